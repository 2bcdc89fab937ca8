// kafkajs. Its consumer needs a group; until then records are read by the Broker class that its consumer uses.
import kafkajs from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import Batch from 'kafkajs/src/consumer/batch.js'
import loggers from 'kafkajs/src/loggers/index.js'
import socketFactory from 'kafkajs/src/network/socketFactory.js'
import snappy from 'kafkajs-snappy'
import lz4 from 'lz4-napi'
import { promisify } from 'node:util'
import zlib from 'node:zlib'

import { serve, toBuffer, toText } from './serve.js'

const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, Partitioners, logLevel } = kafkajs

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

async function consume ({ topic, partition, offset, count }) {
  const cluster = new Cluster({
    logger: loggers.createLogger({ level: logLevel.NOTHING, logCreator: () => () => {} }),
    socketFactory: socketFactory(),
    brokers,
    clientId: 'interop',
    connectionTimeout: 5000,
    enforceRequestTimeout: true,
    metadataMaxAge: 300000,
    retry: { retries: 3 },
    allowAutoTopicCreation: false,
    isolationLevel: 0
  })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(topic)
    const { leader } = cluster.findTopicPartitionMetadata(topic).find(p => p.partitionId === partition)
    const broker = await cluster.findBroker({ nodeId: leader })
    const received = []
    let next = BigInt(offset)
    const deadline = Date.now() + 25000
    while (received.length < count && Date.now() < deadline) {
      const fetchOffset = next.toString()
      const { responses } = await broker.fetch({
        maxWaitTime: 1000,
        isolationLevel: 0,
        topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes: 1048576 }] }]
      })
      const batch = new Batch(topic, fetchOffset, responses[0].partitions[0])
      for (const message of batch.messages) received.push(message)
      if (!batch.isEmpty()) next = BigInt(batch.lastOffset()) + 1n
    }
    return received.slice(0, count).map(({ offset, key, value, headers, timestamp }) => ({
      offset,
      key: toText(key),
      value: toText(value),
      timestamp,
      headers: Object.entries(headers).flatMap(([name, data]) =>
        (Array.isArray(data) ? data : [data]).map(each => [name, toText(each)]))
    }))
  } finally {
    await cluster.disconnect()
  }
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
