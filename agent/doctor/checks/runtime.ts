/** Checks of the container runtime and its pod networks. */
import { join } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import { detectEndpoint } from '../../runtime/detect-endpoint.ts';
import type { Finding } from '../finding.ts';
import type { Machine, RuntimeInfo } from '../machine.ts';

/** Nothing on docker, which has checks of its own. */
export async function checkRuntime(machine: Machine): Promise<readonly Finding[]> {
  const { runtimeEndpoint, dockerEndpoint } = machine.settings;
  if (dockerEndpoint !== '') return [];
  const base = { area: 'runtime', subject: 'endpoint' } as const;
  try {
    const endpoint = await detectEndpoint(runtimeEndpoint, (path) => machine.exists(path));
    const socket = endpoint.replace(/^unix:\/\//, '');
    if (!(await machine.exists(socket)))
      throw new Error('the socket does not exist: is the runtime running?');
    const info = await machine.readRuntimeInfo(endpoint);
    const detail = `${endpoint}: ${info.name} ${info.version}`;
    const left = homelessOf(
      info,
      endpoint,
      (await machine.read(join(machine.settings.rootDir, 'instance'))) ?? '',
    );
    return [{ ...base, state: 'ok', detail }, ...conditionsOf(info), ...left];
  } catch (thrown) {
    const where = runtimeEndpoint === '' ? '' : `${runtimeEndpoint}: `;
    return [{ ...base, state: 'broken', detail: `${where}${asError(thrown).message}` }];
  }
}

/** Pods in the host network need no CNI plugins. */
const conditionsOf = ({ conditions }: RuntimeInfo): readonly Finding[] =>
  conditions.map(({ type, status, message }) => ({
    area: 'runtime',
    subject: type,
    state: status ? 'ok' : type === 'NetworkReady' ? 'limited' : 'broken',
    detail: status ? 'yes' : message === '' ? 'no' : `no: ${message}`,
    ...(type === 'NetworkReady' && !status
      ? { advice: 'add a CNI configuration to the directory that the runtime reads, usually /etc/cni/net.d' }
      : {}),
  }));

/** They are never removed by the agent: they may be those of another one that runs. While they are there, their pods can't
 *  be made anew. */
const homelessOf = ({ homeless = [] }: RuntimeInfo, endpoint: string, instance: string): readonly Finding[] =>
  homeless
    .filter((sandbox) => sandbox.instance !== instance.trim())
    .map(({ id, pod }) => ({
      area: 'runtime',
      subject: 'sandboxes',
      state: 'limited',
      detail: `sandbox ${id} of pod ${pod} was made by an earlier release, for another root directory`,
      advice: `unless another agent still runs it: crictl --runtime-endpoint ${endpoint} stopp ${id} && crictl --runtime-endpoint ${endpoint} rmp ${id}`,
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
