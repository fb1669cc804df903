import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { addressGroup } from '../../base/network.ts'
import type { DeferredTasks } from '../admission/turns.ts'
import type { Connection } from './connection.ts'
import { clearText } from './refusals.ts'

/** The first byte of a TLS record that begins a handshake (RFC 8446 section 5.1). */
const HANDSHAKE = 22
/** Bytes of the header of a record, and of a record and its header (RFC 8446 section 5.1). */
const HEADER = 5
const MAX_RECORD = HEADER + 2 ** 14

/**
 * Handshakes that begin in one turn of the event loop. Each takes 0.3 ms with a P-256 key, and 0.5 ms with RSA of 2,048
 * bits. While thousands of clients connect, one of them is accepted per turn, so these turns stay short.
 */
const PER_TURN = 4

/**
 * Handshakes under way. The later messages of all of them may arrive in one turn, each as expensive as the first one. So
 * a turn takes 60 ms at most, and at a round trip of 100 ms 1,280 clients connect per second.
 */
const MAX_UNDER_WAY = 128

/** Milliseconds after which a handshake gives its place up if others wait. */
const PATIENCE = 1000

/** Milliseconds between two looks for a place. */
const RETRY = 50

/** The connections of a port; see port.ts. */
interface Connections {
  add(socket: Socket, isSecuring: boolean): Connection
  secure(connection: Connection, socket: Socket): void
}

interface Handshake {
  readonly socket: Socket
  readonly connection: Connection
  readonly group: string
  readonly ends: string
  /** Bytes that the client has sent. */
  received: Buffer
  /** `performance.now()` at its beginning. */
  begunAt: number
  readonly deadline: NodeJS.Timeout | undefined
}

/**
 * The TLS handshakes of a port, from the accepted connection to the first byte of HTTP.
 *
 * A handshake begins once its first record has arrived, so clients that send less cost no cryptography. A few begin per
 * turn of the event loop, and few are under way at once. The group of addresses with most of them gives way to others.
 */
export class Handshakes {
  readonly #connections: Connections
  readonly #deferred: DeferredTasks
  readonly #timeout: number
  readonly #startTls: (socket: Socket) => void
  /** By group of addresses, the handshakes that wait for their beginning. The first group is the next one. */
  readonly #waiting = new Map<string, Set<Handshake>>()
  /** In the order of their beginnings, by their two ends: Node.js names no connection of a TLSSocket. */
  readonly #underWay = new Map<string, Handshake>()
  #isScheduled = false
  readonly #retry = setTimeout(() => this.#schedule(), RETRY).unref()

  /** @param timeout milliseconds that a handshake may take; 0 for no limit */
  constructor(server: Server, connections: Connections, deferred: DeferredTasks, timeout: number) {
    this.#connections = connections
    this.#deferred = deferred
    this.#timeout = timeout
    // Node's own listener begins the handshake at once.
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    this.#startTls = (socket) => {
      for (const listener of listeners) listener.call(server, socket)
    }
    server.on('connection', (socket) => this.#accept(socket))
    server.on('secureConnection', (secure) => this.#finish(secure))
  }

  #accept(socket: Socket): void {
    const connection = this.#connections.add(socket, true)
    const handshake: Handshake = {
      socket,
      connection,
      group: addressGroup(socket.remoteAddress ?? ''),
      ends: endsOf(socket),
      received: Buffer.alloc(0),
      begunAt: 0,
      deadline: this.#timeout === 0 ? undefined : setTimeout(() => socket.destroy(), this.#timeout).unref(),
    }
    socket.on('data', (chunk: Buffer) => this.#receive(handshake, chunk))
    socket.on('end', () => socket.destroy())
    socket.once('close', () => this.#end(handshake))
  }

  #receive(handshake: Handshake, chunk: Buffer): void {
    const { socket, connection, group } = handshake
    const received = Buffer.concat([handshake.received, chunk])
    handshake.received = received
    if (received[0] !== HANDSHAKE) {
      this.#end(handshake)
      socket.removeAllListeners('data').removeAllListeners('end')
      connection.refuse(clearText())
    } else if (received.length > MAX_RECORD) socket.destroy()
    else if (received.length >= HEADER && received.length >= HEADER + received.readUInt16BE(3)) {
      this.#waiting.set(group, (this.#waiting.get(group) ?? new Set()).add(handshake))
      this.#schedule()
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.#deferred.add(this.#beginSome)
  }

  readonly #beginSome = (): void => {
    this.#isScheduled = false
    for (let begun = 0; begun < PER_TURN && this.#waiting.size > 0; begun++) {
      const next = this.#next()
      if (next === undefined) {
        this.#retry.refresh()
        return
      }
      this.#begin(next)
    }
    this.#schedule()
  }

  /** Takes the oldest handshake of the first group that may begin one, and makes this group the last one. */
  #next(): Handshake | undefined {
    for (const [group, waiting] of this.#waiting) {
      const [first] = waiting
      if (first === undefined || !this.#makePlace(group)) continue
      waiting.delete(first)
      this.#waiting.delete(group)
      if (waiting.size > 0) this.#waiting.set(group, waiting)
      return first
    }
    return undefined
  }

  /** Ends a handshake of the group that has most of them, or else one that has taken long. @returns whether there is room */
  #makePlace(group: string): boolean {
    if (this.#underWay.size < MAX_UNDER_WAY) return true
    const shares = Map.groupBy(this.#underWay.values(), (each) => each.group)
    const largest = [...shares.values()].reduce((a, b) => (b.length > a.length ? b : a), [])
    const [oldest] = this.#underWay.values()
    const isLate = oldest !== undefined && oldest.begunAt < performance.now() - PATIENCE
    const gives = largest.length > (shares.get(group)?.length ?? 0) + 1 ? largest[0] : isLate ? oldest : undefined
    if (gives === undefined) return false
    gives.socket.destroy()
    this.#underWay.delete(gives.ends)
    return true
  }

  #begin(handshake: Handshake): void {
    const { socket } = handshake
    handshake.begunAt = performance.now()
    this.#underWay.set(handshake.ends, handshake)
    socket.pause()
    socket.removeAllListeners('data')
    socket.unshift(handshake.received)
    handshake.received = Buffer.alloc(0)
    this.#startTls(socket)
  }

  #finish(secure: Socket): void {
    const handshake = this.#underWay.get(endsOf(secure))
    if (handshake === undefined) {
      secure.destroy()
      return
    }
    this.#end(handshake)
    this.#connections.secure(handshake.connection, secure)
  }

  #end(handshake: Handshake): void {
    const { group, ends, deadline } = handshake
    clearTimeout(deadline)
    if (this.#underWay.get(ends) === handshake) this.#underWay.delete(ends)
    const waiting = this.#waiting.get(group)
    if (waiting?.delete(handshake) === true && waiting.size === 0) this.#waiting.delete(group)
    this.#schedule()
  }
}

const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`
