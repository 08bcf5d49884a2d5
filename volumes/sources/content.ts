/** Common parts of sources with content from the API: objects as files, and the volume that contains them. */
import { Buffer } from 'node:buffer';
import { chmod, chown, mkdir } from 'node:fs/promises';
import type {
  ConfigMapVolumeSource,
  DownwardAPIVolumeFile,
  Pod,
  SecretVolumeSource,
  ServiceAccountTokenProjection,
} from '#api/gen/core-v1.ts';
import { extractField, extractResource, FieldRefError } from '#api/schema/field-ref.ts';
import type { ReadyVolume, SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { writePayload } from '../files/atomic-writer.ts';
import { DIRECT, POOLED } from '../files/file-calls.ts';
import { groupMode } from '../files/ownership.ts';
import { mergePayloads, type Payload, type PayloadFile, selectKeys } from '../files/payload.ts';
import { configMapData, secretData } from '../objects/object-data.ts';

/** Files, and whether they may change. */
export interface Content {
  readonly payload: Payload;
  readonly changes: boolean;
}

type KeyedSource = Pick<ConfigMapVolumeSource, 'items' | 'optional'>;

function select(
  object: string,
  data: ReadonlyMap<string, Buffer> | undefined,
  source: KeyedSource,
  defaultMode: number,
): Payload {
  const { items, optional = false } = source;
  if (data === undefined && !optional) throw new VolumeSetupError(`${object} not found`);
  return selectKeys(data ?? new Map(), { object, items, optional, defaultMode });
}

/** @throws VolumeSetupError when the ConfigMap, or one of its listed keys, is missing and not optional */
export async function configMapContent(
  request: SourceRequest,
  source: KeyedSource & { readonly name?: string },
  defaultMode: number,
): Promise<Content> {
  const { name = '' } = source;
  const object = await request.services.objects.getConfigMap(request.namespace, name);
  const data = object === undefined ? undefined : configMapData(object);
  const payload = select(`ConfigMap ${request.namespace}/${name}`, data, source, defaultMode);
  return { payload, changes: object?.immutable !== true };
}

/** @throws VolumeSetupError when the Secret, or one of its listed keys, is missing and not optional */
export async function secretContent(
  request: SourceRequest,
  source: KeyedSource & Pick<SecretVolumeSource, 'secretName'>,
  defaultMode: number,
): Promise<Content> {
  const { secretName = '' } = source;
  const object = await request.services.objects.getSecret(request.namespace, secretName);
  const data = object === undefined ? undefined : secretData(object);
  const payload = select(`Secret ${request.namespace}/${secretName}`, data, source, defaultMode);
  return { payload, changes: object?.immutable !== true };
}

function downwardValue(
  pod: Pod,
  item: DownwardAPIVolumeFile,
  allocatable: Readonly<Record<string, number>>,
): string {
  const { fieldRef, resourceFieldRef } = item;
  if (fieldRef !== undefined) {
    // Volumes show only fields known before the pod runs; addresses and the node are for environment
    // variables.
    if (fieldRef.fieldPath.startsWith('metadata.')) return extractField(pod, fieldRef.fieldPath);
    throw new FieldRefError(`fieldPath ${JSON.stringify(fieldRef.fieldPath)} is not supported in volumes`);
  }
  if (resourceFieldRef === undefined) throw new FieldRefError('neither fieldRef nor resourceFieldRef is set');
  const { containerName, resource, divisor } = resourceFieldRef;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const container = containers.find(({ name }) => name === containerName);
  if (container === undefined) {
    throw new FieldRefError(
      `resourceFieldRef names no container of the pod: ${JSON.stringify(containerName)}`,
    );
  }
  return extractResource(container, resource, divisor, allocatable);
}

/** @throws VolumeSetupError for a reference that cannot be resolved */
export function downwardContent(
  request: SourceRequest,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
): Content {
  const allocatable = request.services.allocatable();
  const payload = new Map<string, PayloadFile>();
  for (const item of items) {
    try {
      const data = Buffer.from(downwardValue(request.pod, item, allocatable));
      payload.set(item.path, { mode: item.mode ?? defaultMode, data });
    } catch (cause) {
      if (!(cause instanceof FieldRefError)) throw cause;
      throw new VolumeSetupError(`downwardAPI file ${JSON.stringify(item.path)}: ${cause.message}`, {
        cause,
      });
    }
  }
  return { payload, changes: true };
}

/** One hour, as upstream. */
const TOKEN_SECONDS = 3600;

/** Returns the user of all containers of the pod; undefined if one has none of its own, or they differ.
 *  Ephemeral containers are ignored. Pure. Source: upstream 1.24, owner of service account token files. */
function soleUser({ spec }: Pod): number | undefined {
  const users = new Set(
    [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(
      ({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser,
    ),
  );
  const [user] = users;
  return users.size === 1 && user !== undefined ? Number(user) : undefined;
}

/** Returns a token of the pod's service account. It belongs to the pod's user; an fsGroup may read it too; a
 *  pod with neither gets the volume's mode.
 *  @throws VolumeSetupError if this agent cannot issue tokens; the issuer's error */
export async function tokenContent(
  { services, pod, fsGroup }: SourceRequest,
  { audience = '', expirationSeconds = TOKEN_SECONDS, path }: ServiceAccountTokenProjection,
  defaultMode: number,
): Promise<Content> {
  if (services.accountToken === undefined) {
    throw new VolumeSetupError(
      'a serviceAccountToken source needs an API server to issue the token, and this agent has none',
    );
  }
  const token = await services.accountToken(pod, { audience, expirationSeconds });
  const uid = soleUser(pod);
  // A volume with a group adds the group's permissions.
  const mode = uid === undefined && fsGroup === undefined ? defaultMode : 0o600;
  const owner = uid === undefined ? {} : { uid };
  return { payload: new Map([[path, { mode, data: Buffer.from(token), ...owner }]]), changes: true };
}

/** Merges several contents into one volume. */
export function mergeContents(contents: readonly Content[]): Content {
  return {
    payload: mergePayloads(contents.map(({ payload }) => payload)),
    changes: contents.some(({ changes }) => changes),
  };
}

export interface ContentPlace {
  readonly dirName: string;
  /** Store the files in memory only. */
  readonly memory: boolean;
}

/** Writes the content into the volume's directory. The volume is read-only to the pod.
 *  Deviation: its root is 0755, not 0777; only the agent writes there. */
export async function setUpContent(
  request: SourceRequest,
  place: ContentPlace,
  content: Content,
): Promise<ReadyVolume> {
  const { mounter, clock } = request.services;
  const { fsGroup } = request;
  const dir = request.dir(place.dirName);
  const group = fsGroup === undefined ? {} : { gid: fsGroup };
  const mode = fsGroup === undefined ? 0o755 : groupMode(0o755, true, true);
  const isNew = (await mkdir(dir, { recursive: true, mode: 0o750 })) !== undefined;
  if (place.memory) await mounter.ensureTmpfs(dir, { mode, ...group, noSwap: true, dataOnly: true, isNew });
  if (fsGroup !== undefined) await chown(dir, 0, fsGroup);
  // A newly mounted file system already has this mode.
  if (!(isNew && place.memory)) await chmod(dir, mode);
  const { syscalls } = mounter;
  // File systems in memory do not block on a disk.
  const files = place.memory ? DIRECT : POOLED;
  const umask = await mounter.umask();
  await writePayload({ syscalls, clock, files, umask }, dir, content.payload, { ...group, isNew });
  return { hostPath: dir, readOnly: true, seLinuxRelabel: true, changes: content.changes };
}
