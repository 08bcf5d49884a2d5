/** Decides whether an agent runs the node server. Pure. */
import type { AgentConfig } from '../../config/gen/config.ts';
import type { Origins } from '../../config/origin.ts';

/** Settings of the node server; a standalone agent runs it when one of them is set. */
const ASKING: readonly string[] = ['enableServer', 'address', 'port', 'readOnlyPort'];

/** Deviation: a standalone agent, for which the local socket is sufficient, opens no port unless configured
 *  to; see
 *  decision 0027. */
export function runsNodeServer(
  { enableServer }: Pick<AgentConfig, 'enableServer'>,
  origins: Origins,
  isJoined: boolean,
): boolean {
  const isRequested = ASKING.some((key) => (origins.get(key)?.kind ?? 'default') !== 'default');
  return enableServer && (isJoined || isRequested);
}
