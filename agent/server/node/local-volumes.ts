/** `/localVolumes`: volumes on the disk of this node that the API server's provisioner creates for claims, lists and
 *  removes. Only for clients that may change the node's proxy subresource; volumes of manifests are not reachable. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import {
  LOCAL_VOLUME_KINDS,
  type LocalVolume,
  type LocalVolumeSpec,
  type LocalVolumes,
} from '#volumes/contract/local-volumes.ts';
import { VolumeSetupError } from '#volumes/errors/setup-error.ts';
import type { NodeEndpoint, NodeResponse } from './endpoint.ts';

export type ProvisionedVolumes = Pick<LocalVolumes, 'create' | 'get' | 'list' | 'remove'>;

/** As the provisioner names them: no other name is accepted. */
const NAME = /^pvc-[0-9a-f-]{1,64}$/;

const bad = (message: string): StatusError => new StatusError('BadRequest', message);

/** @throws StatusError BadRequest */
export function parseVolumeRequest(name: string, body: string): LocalVolumeSpec {
  let value: unknown;
  try {
    value = parseJsonText(body);
  } catch (thrown) {
    throw bad(`body: ${asError(thrown).message}`);
  }
  if (!isObject(value)) throw bad('body: must be an object');
  const { kind, sizeBytes, reclaimPolicy, claim } = value;
  const known = LOCAL_VOLUME_KINDS.find((each) => each === kind);
  if (known === undefined) throw bad(`kind: must be one of ${LOCAL_VOLUME_KINDS.join(', ')}`);
  if (typeof sizeBytes !== 'number' || !Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw bad('sizeBytes: must be a number of bytes');
  if (reclaimPolicy !== 'Delete' && reclaimPolicy !== 'Retain')
    throw bad('reclaimPolicy: must be Delete or Retain');
  if (!isObject(claim)) throw bad('claim: must be an object');
  const { namespace, name: claimName } = claim;
  return {
    name,
    kind: known,
    owner: 'server',
    sizeBytes,
    reclaimPolicy,
    claim: { namespace: textOf(namespace).slice(0, 63), name: textOf(claimName).slice(0, 253) },
  };
}

const viewOf = ({ name, kind, sizeBytes, path, used }: LocalVolume): object => ({
  name,
  kind,
  sizeBytes,
  path,
  used,
});

const json = (value: unknown): NodeResponse => ({ kind: 'json', value });

/** Reasons that the provisioner reports to the user, such as a missing program, are no failures of this server. */
async function create(
  volumes: ProvisionedVolumes,
  spec: LocalVolumeSpec,
  signal: AbortSignal,
): Promise<NodeResponse> {
  try {
    return json(viewOf(await volumes.create(spec, signal)));
  } catch (thrown) {
    if (!(thrown instanceof VolumeSetupError)) throw thrown;
    throw new StatusError('Invalid', thrown.message, { cause: thrown });
  }
}

export const localVolumesEndpoint = (volumes: ProvisionedVolumes): NodeEndpoint => ({
  name: 'localVolumes',
  methods: ['GET', 'PUT', 'DELETE'],
  async handle({ method, rest, body, signal }) {
    const [name = '', ...more] = rest;
    if (name === '' && method === 'GET') {
      const items = (await volumes.list()).filter(({ owner }) => owner === 'server');
      return json({ items: items.map(viewOf) });
    }
    if (!NAME.test(name) || more.length > 0 || method === 'GET')
      throw new StatusError('NotFound', '404 page not found');
    if (method === 'PUT') return create(volumes, parseVolumeRequest(name, await body()), signal);
    if (await volumes.remove(name, signal)) return json({ removed: true });
    throw new StatusError('Conflict', `a pod on this node still has volume ${name}`);
  },
});
