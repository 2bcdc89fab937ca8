// A group member of kafkajs. Its only assigner is round robin under a name of its own; here it has the usual one, so
// that it can share a group with other clients.
import kafkajs from 'kafkajs'

import { assigned, heartbeatInterval, processed, refused, stopRequested, wanted } from './member.js'

const { Kafka, PartitionAssigners, logLevel } = kafkajs

const kafka = new Kafka({
  clientId: 'kafkajs-member',
  brokers: [wanted.bootstrap],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 100 }
})
const consumer = kafka.consumer({
  groupId: wanted.group,
  sessionTimeout: wanted.session_timeout_ms,
  rebalanceTimeout: 30000,
  heartbeatInterval,
  maxWaitTimeInMs: 100,
  metadataMaxAge: 1000,
  partitionAssigners: [config => ({ ...PartitionAssigners.roundRobin(config), name: wanted.assignor })]
})
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assigned(payload.memberAssignment[wanted.topic] ?? []))
consumer.on(consumer.events.REBALANCING, () => assigned([]))
await consumer.connect()
await consumer.subscribe({ topics: [wanted.topic], fromBeginning: true })
await consumer.run({
  autoCommit: false,
  eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
    const { topic, partition, messages } = batch
    try {
      await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(batch.lastOffset()) + 1n) }])
    } catch (error) {
      refused(error)
      throw error
    }
    processed(messages.map(({ offset, value }) => [partition, offset, value.toString()]))
    resolveOffset(batch.lastOffset())
    await heartbeat()
  }
})
await stopRequested
await consumer.disconnect()
process.exit(0)
