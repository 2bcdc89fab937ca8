// kafkajs with one login after another: sends a value and reads it back.
import kafkajs from 'kafkajs'
import { randomUUID } from 'node:crypto'

import { serve } from './serve.js'

const { Kafka, Partitioners, logLevel } = kafkajs

function clientFor ({ broker, authority, certificate, mechanism, user, password, token }) {
  const ssl = authority ? { ca: [authority], cert: certificate ?? undefined, key: certificate ?? undefined } : false
  const sasl = !mechanism
    ? undefined
    : mechanism === 'oauthbearer'
      ? { mechanism, oauthBearerProvider: async () => ({ value: token }) }
      : { mechanism, username: user, password }
  return new Kafka({ clientId: 'interop', brokers: [broker], ssl, sasl, logLevel: logLevel.NOTHING, retry: { retries: 0 } })
}

async function roundTrip ({ topic, value, ...login }) {
  const kafka = clientFor(login)
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  try {
    await producer.connect()
    const [{ baseOffset }] = await producer.send({ topic, messages: [{ partition: 0, value }] })
    return await read(kafka, topic, baseOffset)
  } finally {
    await producer.disconnect()
  }
}

async function read (kafka, topic, offset) {
  const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 100 })
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    return await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer.run({ autoCommit: false, eachMessage: async ({ message }) => resolve(message.value.toString()) }).catch(reject)
      consumer.seek({ topic, partition: 0, offset })
    })
  } finally {
    await consumer.disconnect()
  }
}

await serve({ roundTrip }, async () => {})
