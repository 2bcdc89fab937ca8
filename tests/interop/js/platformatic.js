// @platformatic/kafka. `consume` needs a group; until then records are read by `Consumer.fetch`, which needs none
// and keeps incremental fetch sessions (KIP-227).
import { Admin, Consumer, Producer } from '@platformatic/kafka'

import { serve, toBuffer, toText } from './serve.js'

const options = { clientId: 'interop', bootstrapBrokers: [process.argv[2]], retries: 3 }
const admin = new Admin(options)
const LOG_APPEND_TIME = 8
const TOPIC = 2
const SET = 0

async function produce ({ topic, partition, codec, acks, idempotent, messages }) {
  const producer = new Producer({ ...options, idempotent })
  try {
    await producer.send({
      acks,
      autocreateTopics: true,
      compression: codec,
      messages: messages.map(({ key, value, headers, timestamp }) => ({
        topic,
        partition,
        key: toBuffer(key) ?? undefined,
        value: toBuffer(value) ?? undefined,
        headers: new Map(headers.map(([name, data]) => [Buffer.from(name), toBuffer(data)])),
        timestamp: timestamp === null ? undefined : BigInt(timestamp)
      }))
    })
  } finally {
    await producer.close()
  }
}

async function consume ({ topic, partition, offset, count }) {
  const consumer = new Consumer({ ...options, groupId: 'not-joined' })
  try {
    consumer.topics.track(topic)
    const metadata = await consumer.metadata({ topics: [topic] })
    const { id, partitions } = metadata.topics.get(topic)
    const received = []
    let next = BigInt(offset)
    const deadline = Date.now() + 25000
    while (received.length < count && Date.now() < deadline) {
      const { responses } = await consumer.fetch({
        node: partitions[partition].leader,
        maxWaitTime: 1000,
        minBytes: 1,
        maxBytes: 10485760,
        topics: [{
          topicId: id,
          partitions: [{
            partition,
            currentLeaderEpoch: -1,
            fetchOffset: next,
            lastFetchedEpoch: -1,
            partitionMaxBytes: 1048576
          }]
        }]
      })
      for (const batch of responses.flatMap(r => r.partitions).flatMap(p => p.records ?? [])) {
        for (const record of batch.records) {
          const at = batch.firstOffset + BigInt(record.offsetDelta)
          if (at >= next) received.push(toRecord(batch, record, at))
        }
        next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
      }
    }
    return received.slice(0, count)
  } finally {
    await consumer.close(true)
  }
}

function toRecord (batch, record, offset) {
  const isAppendTime = (batch.attributes & LOG_APPEND_TIME) !== 0
  return {
    offset,
    key: toText(record.key),
    value: toText(record.value),
    timestamp: isAppendTime ? batch.maxTimestamp : batch.firstTimestamp + record.timestampDelta,
    headers: record.headers.map(([name, value]) => [name.toString(), toText(value)])
  }
}

async function listOffset (topic, partition, timestamp) {
  const found = await admin.listOffsets({
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: BigInt(timestamp) }] }]
  })
  return found[0].partitions[0].offset
}

const entries = config => Object.entries(config).map(([name, value]) => ({ name, value }))

await serve({
  produce,
  consume,
  createTopic: ({ topic, partitions, config }) =>
    admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: entries(config) }),
  topics: () => admin.listTopics({ includeInternals: true }),
  partitionCount: async ({ topic }) =>
    (await admin.metadata({ topics: [topic], forceUpdate: true })).topics.get(topic).partitionsCount,
  createPartitions: ({ topic, total }) =>
    admin.createPartitions({ topics: [{ name: topic, count: total, assignments: null }] }),
  topicConfig: async ({ topic }) => {
    const [{ configs }] = await admin.describeConfigs({
      resources: [{ resourceType: TOPIC, resourceName: topic, configurationKeys: null }]
    })
    return Object.fromEntries(configs.map(({ name, value }) => [name, value]))
  },
  setTopicConfig: ({ topic, config }) => admin.incrementalAlterConfigs({
    resources: [{
      resourceType: TOPIC,
      resourceName: topic,
      configs: entries(config).map(entry => ({ ...entry, configOperation: SET }))
    }]
  }),
  deleteRecords: ({ topic, partition, offset }) =>
    admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition, offset: BigInt(offset) }] }] }),
  offsets: async ({ topic, partition }) => [
    await listOffset(topic, partition, -2),
    await listOffset(topic, partition, -1)
  ],
  offsetAt: ({ topic, partition, timestamp }) => listOffset(topic, partition, timestamp),
  cluster: async () => {
    const { id, brokers, controllerId } = await admin.metadata({ topics: [], forceUpdate: true })
    return {
      clusterId: id,
      controllerId: controllerId ?? null,
      brokers: [...brokers].map(([nodeId, { host, port }]) => [nodeId, host, port])
    }
  },
  deleteTopic: ({ topic }) => admin.deleteTopics({ topics: [topic] })
}, () => admin.close())
