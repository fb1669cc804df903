/** The client closed its connection, so there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
