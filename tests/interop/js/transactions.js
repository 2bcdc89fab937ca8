// kafkajs as a transactional producer, and as a consumer of what is committed.
import { randomUUID } from 'node:crypto'

import kafkajs from 'kafkajs'

import { serve, toBuffer, toText } from './serve.js'

const { Kafka, Partitioners, logLevel } = kafkajs

const kafka = new Kafka({
  clientId: 'transactions',
  brokers: [process.argv[2]],
  logLevel: logLevel.NOTHING,
  retry: { retries: 8, initialRetryTime: 50, maxRetryTime: 1000 }
})
let producer = null
let transaction = null

await serve({
  open: async ({ transactionalId, timeoutMs }) => {
    producer = kafka.producer({
      transactionalId,
      transactionTimeout: timeoutMs,
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner
    })
    await producer.connect()
  },
  begin: async () => { transaction = await producer.transaction() },
  send: ({ topic, partition, value }) =>
    transaction.send({ topic, acks: -1, messages: [{ partition, value: toBuffer(value) }] }).then(() => null),
  sendOffsets: ({ groupId, topic, partition, offset }) =>
    transaction.sendOffsets({
      consumerGroupId: groupId,
      topics: [{ topic, partitions: [{ partition, offset: String(offset) }] }]
    }),
  commit: () => transaction.commit(),
  abort: () => transaction.abort(),
  read: async ({ topic, count, committed }) => {
    const consumer = kafka.consumer({ groupId: randomUUID(), readUncommitted: !committed })
    await consumer.connect()
    const values = []
    try {
      await consumer.subscribe({ topic, fromBeginning: true })
      await new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error(`only ${values.length} of ${count} records came`)), 25000).unref()
        consumer.run({
          eachMessage: async ({ message }) => {
            values.push(toText(message.value))
            if (values.length >= count) resolve()
          }
        })
      })
    } finally {
      await consumer.disconnect()
    }
    return values
  }
}, async () => { if (producer !== null) await producer.disconnect() })
