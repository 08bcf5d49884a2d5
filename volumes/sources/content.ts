/** What the sources with content from the API have in common: their objects as files, and the volume they go to. */
import { Buffer } from 'node:buffer';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { extractField, extractResource, FieldRefError } from '#api/schema/field-ref.ts';
import type {
  ConfigMap,
  ConfigMapVolumeSource,
  DownwardAPIVolumeFile,
  Pod,
  Secret,
  SecretVolumeSource,
  ServiceAccountTokenProjection,
} from '#api/schema/gen/core-v1.ts';
import { writePayload } from '../atomic-writer.ts';
import { DIRECT, POOLED } from '../file-calls.ts';
import { groupMode } from '../ownership.ts';
import { mergePayloads, type Payload, type PayloadFile, selectKeys } from '../payload.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { ReadyVolume, SourceRequest } from './source.ts';

/** Files, and whether they may be others at the next look. */
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

const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');
const fromText = (text: string): Buffer => Buffer.from(text, 'utf8');

function entries(
  record: Readonly<Record<string, string>> | undefined,
  decode: (text: string) => Buffer,
): [string, Buffer][] {
  return Object.entries(record ?? {}).map(([key, text]) => [key, decode(text)]);
}

/** Every key of a ConfigMap with its bytes. Pure. */
export function configMapData(object: ConfigMap): ReadonlyMap<string, Buffer> {
  return new Map([...entries(object.data, fromText), ...entries(object.binaryData, fromBase64)]);
}

/** Every key of a Secret with its bytes; `stringData` of a manifest overrides `data`. Pure. */
export function secretData(object: Secret): ReadonlyMap<string, Buffer> {
  return new Map([...entries(object.data, fromBase64), ...entries(object.stringData, fromText)]);
}

/** @throws VolumeSetupError when the ConfigMap, or a key listed of it, is missing and not optional */
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

/** @throws VolumeSetupError when the Secret, or a key listed of it, is missing and not optional */
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
    // Volumes show what is known before the pod runs; addresses and the node are for variables.
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

/** @throws VolumeSetupError for a reference that can't be resolved */
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

/** An hour, as upstream. */
const TOKEN_SECONDS = 3600;

/** The user as whom all containers of the pod run; undefined when one has none of its own, or they differ. Ephemeral
 *  containers don't count. Pure. Source: upstream 1.24, owner of service account token files. */
export function soleUser({ spec }: Pod): number | undefined {
  const users = new Set(
    [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(
      ({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser,
    ),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

/** A token of the pod's service account. It belongs to the pod's user, and with a group of its own the volume shows it to
 *  that group too; a pod with neither gets the volume's mode.
 *  @throws VolumeSetupError where nobody issues tokens; what the issuer rejects with */
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
  // A volume with a group adds what the group may read.
  const mode = uid === undefined && fsGroup === undefined ? defaultMode : 0o600;
  const owner = uid === undefined ? {} : { uid };
  return { payload: new Map([[path, { mode, data: Buffer.from(token), ...owner }]]), changes: true };
}

/** Several contents in one volume. */
export function mergeContents(contents: readonly Content[]): Content {
  return {
    payload: mergePayloads(contents.map(({ payload }) => payload)),
    changes: contents.some(({ changes }) => changes),
  };
}

export interface ContentPlace {
  readonly dirName: string;
  /** Keep the files in memory only. */
  readonly memory: boolean;
}

/** Writes the content into the volume's directory. The volume is read-only to the pod.
 *  Deviation: its root is 0755, not 0777; nobody but the agent writes there. */
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
  // A file system that was mounted just now has it already.
  if (!(isNew && place.memory)) await chmod(dir, mode);
  const { syscalls } = mounter;
  // What is in memory waits for no disk.
  const files = place.memory ? DIRECT : POOLED;
  const umask = await mounter.umask();
  await writePayload({ syscalls, clock, files, umask }, dir, content.payload, { ...group, isNew });
  return { hostPath: dir, readOnly: true, seLinuxRelabel: true, changes: content.changes };
}
