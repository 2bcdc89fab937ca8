// A group member of @platformatic/kafka.
import { Consumer } from '@platformatic/kafka'

import { assigned, heartbeatInterval, processed, refused, stopRequested, wanted } from './member.js'

const consumer = new Consumer({
  clientId: 'platformatic-member',
  bootstrapBrokers: [wanted.bootstrap],
  groupId: wanted.group,
  groupInstanceId: wanted.instance_id ?? undefined,
  sessionTimeout: wanted.session_timeout_ms,
  rebalanceTimeout: 30000,
  heartbeatInterval,
  protocols: [{ name: wanted.assignor, version: 1 }],
  retries: 100,
  retryDelay: 200,
  metadataMaxAge: 1000
})
consumer.on('consumer:group:join', ({ assignments }) => {
  assigned((assignments ?? []).filter(a => a.topic === wanted.topic).flatMap(a => a.partitions))
})
consumer.on('consumer:group:rebalance', () => assigned([]))
consumer.on('error', refused)
const stream = await consumer.consume({
  topics: [wanted.topic],
  mode: 'committed',
  fallbackMode: 'earliest',
  autocommit: false,
  maxWaitTime: 100
})
stream.on('error', refused)
stream.on('data', async message => {
  const { partition, offset, value } = message
  try {
    await message.commit()
    processed([[partition, String(offset), value.toString()]])
  } catch (error) {
    refused(error)
  }
})
await stopRequested
await consumer.close(true)
process.exit(0)
