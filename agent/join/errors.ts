/** Why a machine cannot join. */

export type JoinFault =
  | 'BadToken'
  | 'BadHash'
  | 'BadAddress'
  /** The server shows strangers no cluster-info. */
  | 'NoClusterInfo'
  /** It is not signed with this token. */
  | 'NotSigned'
  | 'AlgorithmRefused'
  | 'SignatureMismatch'
  | 'HashMismatch'
  | 'BadClusterInfo'
  /** It was another when it was fetched again. */
  | 'ClusterInfoChanged'
  | 'AlreadyJoined'
  /** The agent's configuration file cannot be added to. */
  | 'BadConfig'
  | 'TimedOut';

export class JoinError extends Error {
  override readonly name = 'JoinError';
  readonly reason: JoinFault;

  constructor(reason: JoinFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
