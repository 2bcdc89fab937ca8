// @platformatic/kafka. Its consumer needs a group: each reading is a group of its own, which assigns the one partition
// wanted. It keeps incremental fetch sessions (KIP-227).
import { randomUUID } from 'node:crypto'

import { Admin, Consumer, Producer } from '@platformatic/kafka'

import { serve, toBuffer, toText } from './serve.js'

const options = { clientId: 'interop', bootstrapBrokers: [process.argv[2]], retries: 3 }
const admin = new Admin(options)
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
  const assignments = new Map([[topic, { topic, partitions: [partition] }]])
  const consumer = new Consumer({
    ...options,
    groupId: randomUUID(),
    partitionAssigner: (_, members) => [...members.keys()].map(memberId => ({ memberId, assignments }))
  })
  const received = []
  try {
    const stream = await consumer.consume({
      topics: [topic],
      mode: 'manual',
      offsets: [{ topic, partition, offset: BigInt(offset) }],
      autocommit: false,
      maxWaitTime: 100
    })
    await new Promise((resolve, reject) => {
      setTimeout(resolve, 25000).unref()
      stream.on('error', reject)
      stream.on('data', message => {
        received.push(message)
        if (received.length >= count) resolve()
      })
    })
  } finally {
    await consumer.close(true)
  }
  return received.slice(0, count).map(({ offset, key, value, timestamp, headerEntries }) => ({
    offset,
    key: toText(key),
    value: toText(value),
    timestamp,
    headers: headerEntries.map(([name, data]) => [name.toString(), toText(data)])
  }))
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
