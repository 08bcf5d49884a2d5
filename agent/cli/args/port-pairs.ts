/** Parses the port arguments of `port-forward`. Pure. */
import { UsageError } from '../errors.ts';

export interface PortPair {
  /** Local port; 0 for any free port. */
  readonly local: number;
  /** Port of the pod. */
  readonly remote: number;
}

/** Parses `8080:80`, `80` for the same port on both ends, `:80` for any free local port. @throws UsageError */
export function parsePortPair(text: string): PortPair {
  const parts = /^(?:(?<local>\d{0,5}):)?(?<remote>\d{1,5})$/.exec(text)?.groups;
  const { local, remote } = parts ?? {};
  const pair = { local: Number(local ?? remote), remote: Number(remote) };
  const isPort = (port: number): boolean => port <= 65_535;
  if (parts !== undefined && isPort(pair.local) && isPort(pair.remote) && pair.remote > 0) return pair;
  throw new UsageError(`${JSON.stringify(text)} is not a port pair: use LOCAL:REMOTE, REMOTE or :REMOTE`);
}
