// One JSON request a line on stdin, one JSON answer a line on stdout. Bytes are base64.
import { createInterface } from 'node:readline'

export const toBuffer = text => (text === null || text === undefined ? null : Buffer.from(text, 'base64'))
export const toText = buffer => (buffer === null || buffer === undefined ? null : buffer.toString('base64'))

export async function serve (methods, close) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { method, ...options } = JSON.parse(line)
    let answer
    try {
      answer = { result: (await methods[method](options)) ?? null }
    } catch (error) {
      answer = { error: describe(error) }
    }
    process.stdout.write(JSON.stringify(answer, (_, v) => (typeof v === 'bigint' ? v.toString() : v)) + '\n')
  }
  await close()
  process.exit(0)
}

// Clients wrap what the broker said in errors of their own.
function describe (error) {
  const parts = [`${error.name}: ${error.message}`]
  for (const inner of [error.cause, ...(error.errors ?? [])]) {
    if (inner) parts.push(describe(inner))
  }
  return parts.join(' <- ')
}
