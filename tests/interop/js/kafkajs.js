// kafkajs. Its consumer needs a group: each reading is a group of its own, which assigns the one partition wanted.
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import lz4 from 'lz4-napi'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import zlib from 'node:zlib'

import { serve, toBuffer, toText } from './serve.js'

const {
  AssignerProtocol: { MemberAssignment, MemberMetadata },
  CompressionCodecs,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  Partitioners,
  logLevel
} = kafkajs

// kafkajs ships gzip; the others are plugged in, as its documentation says.
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4.compressFrame(encoder.buffer),
  decompress: async buffer => lz4.decompressFrame(buffer)
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => promisify(zlib.zstdCompress)(encoder.buffer),
  decompress: async buffer => promisify(zlib.zstdDecompress)(buffer)
})
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

const brokers = [process.argv[2]]
const kafka = new Kafka({ clientId: 'interop', brokers, logLevel: logLevel.NOTHING, retry: { retries: 3 } })
const admin = kafka.admin()
await admin.connect()

async function produce ({ topic, partition, codec, acks, idempotent, messages }) {
  const producer = kafka.producer({
    idempotent,
    maxInFlightRequests: idempotent ? 1 : undefined,
    createPartitioner: Partitioners.DefaultPartitioner
  })
  await producer.connect()
  try {
    await producer.send({
      topic,
      acks,
      compression: CODECS[codec],
      messages: messages.map(({ key, value, headers, timestamp }) => ({
        partition,
        key: toBuffer(key),
        value: toBuffer(value),
        headers: Object.fromEntries(headers.map(([name, data]) => [name, toBuffer(data)])),
        timestamp: timestamp === null ? undefined : String(timestamp)
      }))
    })
  } finally {
    await producer.disconnect()
  }
}

// Assigns one partition and leaves the others to nobody.
const only = (topic, partition) => () => ({
  name: 'only',
  version: 0,
  assign: async ({ members: [{ memberId }] }) =>
    [{ memberId, memberAssignment: MemberAssignment.encode({ version: 0, assignment: { [topic]: [partition] } }) }],
  protocol: ({ topics }) => ({ name: 'only', metadata: MemberMetadata.encode({ version: 0, topics }) })
})

async function consume ({ topic, partition, offset, count }) {
  const consumer = kafka.consumer({
    groupId: randomUUID(),
    maxWaitTimeInMs: 100,
    partitionAssigners: [only(topic, partition)]
  })
  const received = []
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await new Promise((resolve, reject) => {
      setTimeout(resolve, 25000).unref()
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      const eachMessage = async ({ message }) => {
        received.push(message)
        if (received.length >= count) resolve()
      }
      consumer.run({ autoCommit: false, eachMessage }).catch(reject)
      consumer.seek({ topic, partition, offset: String(offset) })
    })
  } finally {
    await consumer.disconnect()
  }
  return received.slice(0, count).map(({ offset, key, value, headers, timestamp }) => ({
    offset,
    key: toText(key),
    value: toText(value),
    timestamp,
    headers: Object.entries(headers).flatMap(([name, data]) =>
      (Array.isArray(data) ? data : [data]).map(each => [name, toText(each)]))
  }))
}

const resource = topic => ({ type: ConfigResourceTypes.TOPIC, name: topic })

await serve({
  produce,
  consume,
  createTopic: ({ topic, partitions, config }) => admin.createTopics({
    topics: [{
      topic,
      numPartitions: partitions,
      replicationFactor: 1,
      configEntries: Object.entries(config).map(([name, value]) => ({ name, value }))
    }]
  }),
  topics: () => admin.listTopics(),
  partitionCount: async ({ topic }) => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length,
  createPartitions: ({ topic, total }) => admin.createPartitions({ topicPartitions: [{ topic, count: total }] }),
  topicConfig: async ({ topic }) => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource(topic)] })
    return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
  },
  setTopicConfig: ({ topic, config }) => admin.alterConfigs({
    validateOnly: false,
    resources: [{
      ...resource(topic),
      configEntries: Object.entries(config).map(([name, value]) => ({ name, value }))
    }]
  }),
  deleteRecords: ({ topic, partition, offset }) =>
    admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] }),
  offsets: async ({ topic, partition }) => {
    const found = (await admin.fetchTopicOffsets(topic)).find(p => p.partition === partition)
    return [found.low, found.high]
  },
  offsetAt: async ({ topic, partition, timestamp }) =>
    (await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)).find(p => p.partition === partition).offset,
  cluster: async () => {
    const { brokers, controller, clusterId } = await admin.describeCluster()
    return { clusterId, controllerId: controller, brokers: brokers.map(b => [b.nodeId, b.host, b.port]) }
  },
  deleteTopic: ({ topic }) => admin.deleteTopics({ topics: [topic] })
}, () => admin.disconnect())
