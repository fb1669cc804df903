/** Node.js' HTTP. An `import` of it would load `fetch` and `WebSocket` too, which takes 45 ms of each start. */
export const http = process.getBuiltinModule('node:http')
