/** Preparation of one container for its start: image, environment, files, subPaths and exclusive resources,
 *  combined in the CRI configuration. */

import type { ConfigMap, Pod, Secret } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { ContainerConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume, VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import type { EnsureImageResult } from '../../images/types.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { IdentifiedPod } from '../../pod-identity/identity.ts';
import type { Owner } from '../../pod-identity/labels.ts';
import type { ContainerGrant, ResourceManagers } from '../../resources/contract.ts';
import {
  type ContainerInput,
  type ContainerSettings,
  createContainerConfig,
} from '../../runtime/config/container.ts';
import { envReferences, resolveEnv } from '../../runtime/config/env.ts';
import { decideSubPaths, mountsHostsFile } from '../../runtime/config/mounts.ts';
import type { ImageUser } from '../../runtime/config/security.ts';
import type { ActionOf, ContainerSpec } from '../decide/decision-types.ts';
import type { PodEvent } from '../pod-event.ts';
import type { PodFiles } from '../pod-files.ts';

type StartAction = ActionOf<'startContainer'>;
type Present = Extract<EnsureImageResult, { kind: 'present' }>;
type Volumes = ReadonlyMap<string, MountedVolume>;

/** Settings of the agent that affect the start of a container. */
export interface ContainerStartSettings {
  readonly owner: Owner;
  readonly podLogsDir: string;
  readonly container: ContainerSettings;
  readonly hostIPs: () => readonly string[];
  /** Allocatable amounts by resource name in base units. */
  readonly allocatable: () => Readonly<Record<string, number>>;
}

export interface ContainerConfigDeps {
  readonly images: Pick<ImageManager, 'ensureImage' | 'imageUser'>;
  readonly volumes: Pick<VolumeManager, 'prepareSubPath'>;
  /** Assigns CPUs, NUMA memory and devices to containers. */
  readonly resources: Pick<ResourceManagers, 'grant'>;
  /** Object source of a pod, by its origin. */
  readonly objectsOf: (pod: Pod) => ObjectReader;
  /** Service environment variables of a pod. Rejects until Services are known. */
  readonly serviceEnv: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  readonly view: RuntimeView;
  readonly files: Pick<PodFiles, 'writeHosts' | 'createTerminationLog'>;
  readonly event: PodEvent;
  readonly settings: ContainerStartSettings;
}

/** A start that cannot proceed, with the reason for the container status. */
export class StartError extends Error {
  readonly reason: string;
  /** Wall time (ms) of the next attempt, where the cause knows it better than the backoff of the worker. */
  readonly retryAtMs: number | undefined;

  constructor(reason: string, message: string, retryAtMs?: number) {
    super(message);
    this.name = 'StartError';
    this.reason = reason;
    this.retryAtMs = retryAtMs;
  }
}

/** Pulls the image if necessary. @throws StartError */
export async function ensureImage(
  deps: Pick<ContainerConfigDeps, 'images' | 'objectsOf' | 'event'>,
  target: IdentifiedPod,
  { spec }: StartAction,
  signal: AbortSignal,
): Promise<Present> {
  const { pod, uid } = target;
  const result = await deps.images.ensureImage({
    image: spec.image ?? '',
    pullPolicy: spec.imagePullPolicy ?? 'IfNotPresent',
    pullSecrets: await pullSecrets(deps.objectsOf(pod), target),
    podUID: uid,
    signal,
    onEvent: ({ type, reason, message }) => deps.event(pod, type, reason, message, spec),
  });
  if (result.kind === 'waiting') throw new StartError(result.reason, result.message, result.retryAtMs);
  return result;
}

async function pullSecrets(
  objects: ObjectReader,
  { pod, namespace }: IdentifiedPod,
): Promise<readonly Secret[]> {
  const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);
  const found = await Promise.all(names.map((name) => objects.getSecret(namespace, name)));
  return found.filter((secret) => secret !== undefined);
}

/** @param volumes mounted volumes of the pod, by volume name
 *  @throws StartError, VolumeError, errors of the object reader */
export async function containerConfig(
  deps: ContainerConfigDeps,
  target: IdentifiedPod,
  action: StartAction,
  { image, volumes }: { readonly image: Present; readonly volumes: Volumes },
): Promise<MessageInput<ContainerConfig>> {
  const { spec, attempt, containerKind } = action;
  const { pod, uid } = target;
  const { files, settings } = deps;
  const podIPs = addresses(deps, target);
  const env = await environment(deps, target, spec, podIPs);
  const input: ContainerInput = {
    pod,
    container: spec,
    kind: containerKind,
    attempt,
    owner: settings.owner,
    image: { ref: image.imageRef, user: await imageUser(deps, image) },
    env,
    volumes,
    subPaths: await prepareSubPaths(deps, uid, spec, { env, volumes }),
    hostsFile: mountsHostsFile(spec) ? await files.writeHosts(target, podIPs) : undefined,
    terminationLog: await files.createTerminationLog(uid, spec.name, attempt),
    grant: await grantOf(deps, pod, spec),
    settings: settings.container,
    ...targetOf(deps.view, uid, spec),
  };
  const result = createContainerConfig(input);
  if (result.kind === 'error') throw new StartError(result.reason, result.message);
  return result.config;
}

/** CPUs, NUMA memory and devices allocated exclusively to this container. */
async function grantOf(
  { resources }: Pick<ContainerConfigDeps, 'resources'>,
  pod: Pod,
  spec: ContainerSpec,
): Promise<ContainerGrant> {
  try {
    return await resources.grant(pod, spec);
  } catch (thrown) {
    throw new StartError('CreateContainerConfigError', asError(thrown).message);
  }
}

async function imageUser(
  { images }: Pick<ContainerConfigDeps, 'images'>,
  image: Present,
): Promise<ImageUser> {
  const { uid, username } = (await images.imageUser(image.imageRef)) ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(username === undefined ? {} : { username }) };
}

function addresses(
  { view, settings }: Pick<ContainerConfigDeps, 'view' | 'settings'>,
  { pod, uid }: IdentifiedPod,
): readonly string[] {
  if (pod.spec?.hostNetwork === true) return settings.hostIPs();
  return view.pod(uid).sandboxes[0]?.ips ?? [];
}

/** Returns the ID of the container whose process namespace an ephemeral container joins. */
function targetOf(view: RuntimeView, podUID: string, spec: ContainerSpec): { targetContainerId?: string } {
  const name = 'targetContainerName' in spec ? spec.targetContainerName : undefined;
  if (name === undefined || name === '') return {};
  const target = view.pod(podUID).containers.find((container) => container.name === name);
  if (target?.state !== 'running') {
    throw new StartError(
      'CreateContainerConfigError',
      `target container ${JSON.stringify(name)} is not running`,
    );
  }
  return { targetContainerId: target.id };
}

async function environment(
  { objectsOf, serviceEnv, settings, event }: ContainerConfigDeps,
  { pod, namespace }: IdentifiedPod,
  spec: ContainerSpec,
  podIPs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const objects = objectsOf(pod);
  const references = envReferences(spec);
  const hostIP = settings.hostIPs()[0];
  const status = {
    ...(hostIP === undefined ? {} : { hostIP }),
    ...(podIPs[0] === undefined ? {} : { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
  const result = resolveEnv({
    pod: { ...pod, status },
    container: spec,
    configMaps: await fetchAll<ConfigMap>(references.configMaps, (name) =>
      objects.getConfigMap(namespace, name),
    ),
    secrets: await fetchAll<Secret>(references.secrets, (name) => objects.getSecret(namespace, name)),
    allocatable: settings.allocatable(),
    serviceEnv: await serviceEnv(pod),
  });
  if (result.kind === 'error') throw new StartError(result.reason, result.message);
  for (const { reason, message } of result.warnings) event(pod, 'Warning', reason, message, spec);
  return result.env;
}

async function fetchAll<T>(
  names: readonly string[],
  fetch: (name: string) => Promise<T | undefined>,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  for (const name of names) {
    const object = await fetch(name);
    if (object !== undefined) found.set(name, object);
  }
  return found;
}

async function prepareSubPaths(
  { volumes: manager }: Pick<ContainerConfigDeps, 'volumes'>,
  podUID: string,
  spec: ContainerSpec,
  { env, volumes }: { readonly env: ReadonlyMap<string, string>; readonly volumes: Volumes },
): Promise<ReadonlyMap<number, string>> {
  const decided = decideSubPaths(spec, env);
  if (decided.kind === 'error') throw new StartError('CreateContainerConfigError', decided.message);
  const paths = new Map<number, string>();
  for (const { mountIndex, volumeName, subPath } of decided.needs) {
    const volume = volumes.get(volumeName);
    if (volume === undefined) continue;
    const request = { podUID, volume, containerName: spec.name, mountIndex, subPath };
    paths.set(mountIndex, await manager.prepareSubPath(request));
  }
  return paths;
}
