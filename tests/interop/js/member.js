// What the group members share: their arguments, their lines, and when to stop. See members/__init__.py.
export const wanted = JSON.parse(process.argv[2])
export const heartbeatInterval = 300

export const emit = (event, fields) => process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
export const assigned = partitions => emit('assigned', { partitions: [...partitions].sort((a, b) => a - b) })
export const processed = records => emit('processed', { records })
export const refused = error => emit('refused', { error: String(error) })

// Resolved when standard input is closed.
export const stopRequested = new Promise(resolve => {
  process.stdin.on('end', resolve)
  process.stdin.resume()
})
