/** Error codes of a failed join. */

export type JoinErrorReason =
  | 'BadToken'
  | 'BadHash'
  | 'BadAddress'
  /** The server does not serve cluster-info to anonymous clients. */
  | 'NoClusterInfo'
  /** cluster-info is not signed with this token. */
  | 'NotSigned'
  | 'AlgorithmRefused'
  | 'SignatureMismatch'
  | 'HashMismatch'
  | 'BadClusterInfo'
  /** cluster-info changed between the unverified and the verified fetch. */
  | 'ClusterInfoChanged'
  | 'AlreadyJoined'
  /** The configuration file of the agent cannot be extended. */
  | 'BadConfig'
  | 'TimedOut';

export class JoinError extends Error {
  override readonly name = 'JoinError';
  readonly reason: JoinErrorReason;

  constructor(reason: JoinErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
