/** Ports as `port-forward` takes them. Pure. */
import { UsageError } from './errors.ts';

export interface PortPair {
  /** Port of this machine; 0 for any free one. */
  readonly local: number;
  /** Port of the pod. */
  readonly remote: number;
}

/** `8080:80`, `80` for the same on both sides, `:80` for any free one here. @throws UsageError */
export function parsePortPair(text: string): PortPair {
  const parts = /^(?:(?<local>\d{0,5}):)?(?<remote>\d{1,5})$/.exec(text)?.groups;
  const { local, remote } = parts ?? {};
  const pair = { local: Number(local ?? remote), remote: Number(remote) };
  const isPort = (port: number): boolean => port <= 65_535;
  if (parts !== undefined && isPort(pair.local) && isPort(pair.remote) && pair.remote > 0) return pair;
  throw new UsageError(`${JSON.stringify(text)} is no pair of ports: LOCAL:REMOTE, REMOTE or :REMOTE`);
}
