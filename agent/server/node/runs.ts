/** Whether an agent runs the node's server. Pure. */
import type { AgentConfig } from '../../config/gen/config.ts';
import type { Origins } from '../../config/origin.ts';

/** Settings of the server; a standalone agent runs it when one of them is given. */
const ASKING: readonly string[] = ['enableServer', 'address', 'port', 'readOnlyPort'];

/** Deviation: a standalone agent, which its local socket is enough for, opens no port unless told to; see decision
 *  0027. */
export function runsNodeServer(
  { enableServer }: Pick<AgentConfig, 'enableServer'>,
  origins: Origins,
  isJoined: boolean,
): boolean {
  const isAsked = ASKING.some((key) => (origins.get(key)?.kind ?? 'default') !== 'default');
  return enableServer && (isJoined || isAsked);
}
