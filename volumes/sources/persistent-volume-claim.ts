/** persistentVolumeClaim: the claim leads to a PersistentVolume, and that to the source that does the work.
 *  Spec: document 3, 2.4 and 2.5. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimVolumeSource,
} from '#api/schema/gen/core-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';
import {
  defineSource,
  type ReadyVolume,
  type SetUp,
  type SourceFields,
  type SourcePlugin,
  type SourceRequest,
} from './source.ts';

/** Fields of a PersistentVolume's spec that say nothing about its source. */
const OTHER_FIELDS: ReadonlySet<string> = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
]);

async function findVolume(request: SourceRequest, claimName: string): Promise<PersistentVolume> {
  const { namespace } = request;
  const { objects } = request.services;
  const what = `PersistentVolumeClaim ${namespace}/${claimName}`;
  const claim = await objects.getPersistentVolumeClaim(namespace, claimName);
  if (claim === undefined) throw new VolumeSetupError(`${what} not found`);
  const volumeName = claim.spec?.volumeName ?? '';
  if (volumeName === '') throw new VolumeSetupError(`${what} is not bound: it has no spec.volumeName`);
  const volume = await objects.getPersistentVolume(volumeName);
  if (volume === undefined) {
    throw new VolumeSetupError(`${what} is bound to PersistentVolume ${volumeName}, which was not found`);
  }
  checkBinding(what, claim, volume, namespace);
  return volume;
}

function checkBinding(
  what: string,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  namespace: string,
): void {
  const name = volume.metadata?.name ?? '';
  const ref = volume.spec?.claimRef;
  if (ref !== undefined) {
    const sameName = ref.namespace === namespace && ref.name === claim.metadata?.name;
    const uid = claim.metadata?.uid;
    if (!sameName || (ref.uid !== undefined && uid !== undefined && ref.uid !== uid)) {
      throw new VolumeSetupError(
        `${what} names PersistentVolume ${name}, which belongs to another claim, ${ref.namespace}/${ref.name}`,
      );
    }
  }
  if (volume.spec?.volumeMode === 'Block') {
    throw new VolumeSetupError(`PersistentVolume ${name} is a raw block volume and can't be mounted`);
  }
}

function bindSource(plugins: readonly SourcePlugin[], volume: PersistentVolume): SetUp {
  const fields: SourceFields = {
    ...(volume.spec?.hostPath === undefined ? {} : { hostPath: volume.spec.hostPath }),
    ...(volume.spec?.local === undefined ? {} : { local: volume.spec.local }),
  };
  for (const plugin of plugins) {
    const setUp = plugin.bind(fields);
    if (setUp !== undefined) return setUp;
  }
  const source = Object.keys(volume.spec ?? {}).find((field) => !OTHER_FIELDS.has(field)) ?? 'none';
  throw new VolumeSetupError(
    `PersistentVolume ${volume.metadata?.name} has a source that this agent can't mount: ${source}`,
  );
}

async function setUpClaim(
  plugins: readonly SourcePlugin[],
  spec: PersistentVolumeClaimVolumeSource,
  request: SourceRequest,
): Promise<ReadyVolume> {
  const persistentVolume = await findVolume(request, spec.claimName);
  await request.use(persistentVolume.spec ?? {});
  const setUp = bindSource(plugins, persistentVolume);
  if ((persistentVolume.spec?.mountOptions ?? []).length > 0) {
    throw new VolumeSetupError(
      `PersistentVolume ${persistentVolume.metadata?.name} has mountOptions, which its source doesn't take`,
    );
  }
  return setUp({ ...request, persistentVolume, readOnly: request.readOnly || spec.readOnly === true });
}

/** @param plugins the sources that a PersistentVolume may have */
export function createPersistentVolumeClaim(plugins: readonly SourcePlugin[]): SourcePlugin {
  return defineSource(
    'persistentVolumeClaim',
    { summary: 'The PersistentVolume that a claim is bound to.', use: 'pod' },
    (spec, request) => setUpClaim(plugins, spec, request),
  );
}
