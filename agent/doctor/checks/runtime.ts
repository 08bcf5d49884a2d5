/** The container runtime, and the networks that it makes. */
import { asError } from '#api/kit/clock.ts';
import { detectEndpoint } from '../../runtime/detect-endpoint.ts';
import type { Finding } from '../finding.ts';
import type { Machine, RuntimeAnswer } from '../machine.ts';

export async function checkRuntime(machine: Machine): Promise<readonly Finding[]> {
  const { runtimeEndpoint } = machine.settings;
  const base = { area: 'runtime', subject: 'endpoint' } as const;
  try {
    const endpoint = await detectEndpoint(runtimeEndpoint, (path) => machine.exists(path));
    const socket = endpoint.replace(/^unix:\/\//, '');
    if (!(await machine.exists(socket))) throw new Error('there is no such socket: is the runtime running?');
    const answer = await machine.askRuntime(endpoint);
    const detail = `${endpoint}: ${answer.name} ${answer.version}`;
    return [{ ...base, state: 'ok', detail }, ...conditionsOf(answer)];
  } catch (thrown) {
    const where = runtimeEndpoint === '' ? '' : `${runtimeEndpoint}: `;
    return [{ ...base, state: 'broken', detail: `${where}${asError(thrown).message}` }];
  }
}

/** Pods in the host's network live without one of their own. */
const conditionsOf = ({ conditions }: RuntimeAnswer): readonly Finding[] =>
  conditions.map(({ type, status, message }) => ({
    area: 'runtime',
    subject: type,
    state: status ? 'ok' : type === 'NetworkReady' ? 'limited' : 'broken',
    detail: status ? 'yes' : message === '' ? 'no' : `no: ${message}`,
    ...(type === 'NetworkReady' && !status
      ? { advice: 'put a CNI configuration into the folder that the runtime reads, usually /etc/cni/net.d' }
      : {}),
  }));

const CNI_FOLDERS: readonly string[] = ['/opt/cni/bin', '/usr/lib/cni'];
const CNI_CONFIG = '/etc/cni/net.d';

export async function checkCni(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'runtime', subject: 'CNI' } as const;
  const found = await Promise.all(CNI_FOLDERS.map(async (dir) => ({ dir, names: await machine.list(dir) })));
  const folder = found.find(({ names }) => names.length > 0);
  const configs = (await machine.list(CNI_CONFIG)).filter((name) => /\.(?:conf|conflist|json)$/.test(name));
  if (folder === undefined) {
    const detail = `no plugins in ${CNI_FOLDERS.join(' or ')}`;
    const advice = 'install the Debian package containernetworking-plugins';
    return [{ ...base, state: 'limited', detail, advice }];
  }
  const first = configs.toSorted()[0];
  const config = first === undefined ? `no configuration in ${CNI_CONFIG}` : `${CNI_CONFIG}/${first}`;
  return [{ ...base, state: 'ok', detail: `${folder.names.length} plugins in ${folder.dir}, ${config}` }];
}
