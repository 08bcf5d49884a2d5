/** Start of one container: image, environment, mounts, create, start, postStart hook. */

import type { ConfigMap, Pod, Secret } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/clock.ts';
import { isNotFound } from '#cri/errors.ts';
import type { ContainerConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { VolumeError } from '#volumes/errors/volume-error.ts';
import { formatNormalized, parseImageReference } from '../../images/reference.ts';
import type { EnsureImageResult } from '../../images/types.ts';
import { nextAttempt } from '../../logs/next-attempt.ts';
import { containerLogPath } from '../../logs/paths.ts';
import { podIdentity } from '../../pod-identity/identity.ts';
import type { ContainerGrant } from '../../resources/contract.ts';
import { type ContainerInput, createContainerConfig } from '../../runtime/config/container.ts';
import { resolveEnv } from '../../runtime/config/env.ts';
import { containerHash } from '../../runtime/config/hash.ts';
import { decideSubPaths, mountsHostsFile } from '../../runtime/config/mounts.ts';
import { envReferences } from '../../runtime/config/references.ts';
import type { ImageUser } from '../../runtime/config/security.ts';
import { stopTimeout } from '../../runtime/stop-timeout.ts';
import type { ContainerSpec } from '../decide/decision-types.ts';
import type { OperationDeps } from './deps.ts';
import { relistAndThrow, sandboxConfig } from './sandbox.ts';
import type { ActionOf, StartOutcome } from './types.ts';

type StartAction = ActionOf<'startContainer'>;
type Failure = Extract<StartOutcome, { kind: 'failed' }>;
type Present = Extract<EnsureImageResult, { kind: 'present' }>;

/** A start that cannot proceed, with the reason for the container status. */
class StartError extends Error {
  readonly failure: Failure;

  constructor(reason: string, message: string, retryAtMs?: number) {
    super(message);
    this.name = 'StartError';
    this.failure = { kind: 'failed', reason, message, ...(retryAtMs === undefined ? {} : { retryAtMs }) };
  }
}

/** Starts the container of the action. Volumes are those that `mountPod` returned.
 *  Never throws for an invalid container; rejects when `signal` fires. */
export async function startContainer(
  deps: OperationDeps,
  pod: Pod,
  action: StartAction,
  volumes: ReadonlyMap<string, MountedVolume>,
  signal: AbortSignal,
): Promise<StartOutcome> {
  try {
    const image = await ensureImage(deps, pod, action, signal);
    const withAttempt = { ...action, attempt: await attemptOf(deps, pod, action) };
    const config = await containerConfig(deps, pod, withAttempt, { image, volumes });
    signal.throwIfAborted();
    await createAndStart(deps, pod, withAttempt, { config, signal });
    return { kind: 'started' };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    // The image may have been removed externally: inspect it again before the next attempt.
    if (isNotFound(thrown)) deps.images.invalidateImage(action.spec.image);
    return asFailure(deps, pod, action.spec, thrown);
  }
}

/** Includes instances that have disappeared from the runtime. */
async function attemptOf(
  { settings: { podLogsDir } }: OperationDeps,
  pod: Pod,
  { spec, attempt, previous }: StartAction,
): Promise<number> {
  if (previous !== undefined) return attempt;
  const { uid, namespace, name } = podIdentity(pod);
  return Math.max(attempt, await nextAttempt(podLogsDir, { namespace, name, podUID: uid }, spec.name));
}

function asFailure({ event }: OperationDeps, pod: Pod, spec: ContainerSpec, thrown: unknown): Failure {
  if (thrown instanceof StartError) {
    if (!IMAGE_REASONS.has(thrown.failure.reason))
      event(pod, 'Warning', 'Failed', `Error: ${thrown.message}`, spec);
    return thrown.failure;
  }
  const { message } = asError(thrown);
  event(pod, 'Warning', 'Failed', `Error: ${message}`, spec);
  const reason = thrown instanceof VolumeError ? 'CreateContainerConfigError' : 'CreateContainerError';
  return { kind: 'failed', reason, message };
}

/** Reasons for which the image manager has already emitted an event. */
const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
]);

async function ensureImage(
  deps: OperationDeps,
  pod: Pod,
  { spec }: StartAction,
  signal: AbortSignal,
): Promise<Present> {
  const { uid } = podIdentity(pod);
  const result = await deps.images.ensureImage({
    image: spec.image ?? '',
    pullPolicy: spec.imagePullPolicy ?? 'IfNotPresent',
    pullSecrets: await pullSecrets(deps, pod),
    podUID: uid,
    signal,
    onEvent: ({ type, reason, message }) => deps.event(pod, type, reason, message, spec),
  });
  if (result.kind === 'waiting') throw new StartError(result.reason, result.message, result.retryAtMs);
  return result;
}

async function pullSecrets({ objectsOf }: OperationDeps, pod: Pod): Promise<readonly Secret[]> {
  const objects = objectsOf(pod);
  const { namespace } = podIdentity(pod);
  const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);
  const found = await Promise.all(names.map((name) => objects.getSecret(namespace, name)));
  return found.filter((secret) => secret !== undefined);
}

interface Prepared {
  readonly image: Present;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

async function containerConfig(
  deps: OperationDeps,
  pod: Pod,
  action: StartAction,
  { image, volumes }: Prepared,
): Promise<MessageInput<ContainerConfig>> {
  const { spec, attempt, containerKind } = action;
  const { uid } = podIdentity(pod);
  const { files, settings } = deps;
  const podIPs = addresses(deps, pod);
  const env = await environment(deps, pod, spec, podIPs);
  const input: ContainerInput = {
    pod,
    container: spec,
    kind: containerKind,
    attempt,
    owner: settings.owner,
    image: { ref: image.imageRef, user: await imageUser(deps, image) },
    env,
    volumes,
    subPaths: await prepareSubPaths(deps, pod, spec, { env, volumes }),
    hostsFile: mountsHostsFile(spec) ? await files.writeHosts(pod, podIPs) : undefined,
    terminationLog: await files.createTerminationLog(uid, spec.name, attempt),
    grant: await grantOf(deps, pod, spec),
    settings: settings.container,
    ...targetOf(deps, pod, spec),
  };
  const result = createContainerConfig(input);
  if (result.kind === 'error') throw new StartError(result.reason, result.message);
  return result.config;
}

/** CPUs, NUMA memory and devices allocated exclusively to this container. */
async function grantOf({ resources }: OperationDeps, pod: Pod, spec: ContainerSpec): Promise<ContainerGrant> {
  try {
    return await resources.grant(pod, spec);
  } catch (thrown) {
    throw new StartError('CreateContainerConfigError', asError(thrown).message);
  }
}

async function imageUser({ images }: OperationDeps, image: Present): Promise<ImageUser> {
  const { uid, username } = (await images.imageUser(image.imageRef)) ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(username === undefined ? {} : { username }) };
}

function addresses({ view, settings }: OperationDeps, pod: Pod): readonly string[] {
  if (pod.spec?.hostNetwork === true) return settings.hostIPs();
  return view.pod(podIdentity(pod).uid).sandboxes[0]?.ips ?? [];
}

/** Returns the ID of the container whose process namespace an ephemeral container joins. */
function targetOf({ view }: OperationDeps, pod: Pod, spec: ContainerSpec): { targetContainerId?: string } {
  const name = 'targetContainerName' in spec ? spec.targetContainerName : undefined;
  if (name === undefined || name === '') return {};
  const target = view.pod(podIdentity(pod).uid).containers.find((container) => container.name === name);
  if (target?.state !== 'running') {
    throw new StartError(
      'CreateContainerConfigError',
      `target container ${JSON.stringify(name)} is not running`,
    );
  }
  return { targetContainerId: target.id };
}

async function environment(
  { objectsOf, serviceEnv, settings, event }: OperationDeps,
  pod: Pod,
  spec: ContainerSpec,
  podIPs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const objects = objectsOf(pod);
  const { namespace } = podIdentity(pod);
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
  { volumes: manager }: OperationDeps,
  pod: Pod,
  spec: ContainerSpec,
  { env, volumes }: { env: ReadonlyMap<string, string>; volumes: ReadonlyMap<string, MountedVolume> },
): Promise<ReadonlyMap<number, string>> {
  const decided = decideSubPaths(spec, env);
  if (decided.kind === 'error') throw new StartError('CreateContainerConfigError', decided.message);
  const paths = new Map<number, string>();
  for (const { mountIndex, volumeName, subPath } of decided.needs) {
    const volume = volumes.get(volumeName);
    if (volume === undefined) continue;
    const podUID = podIdentity(pod).uid;
    const request = { podUID, volume, containerName: spec.name, mountIndex, subPath };
    paths.set(mountIndex, await manager.prepareSubPath(request));
  }
  return paths;
}

async function createAndStart(
  deps: OperationDeps,
  pod: Pod,
  action: StartAction,
  { config, signal }: { config: MessageInput<ContainerConfig>; signal: AbortSignal },
): Promise<void> {
  const { runtime, starts, observer } = deps;
  const attempt = deps.view.sandbox(action.sandboxId)?.attempt ?? 0;
  const sandbox = await sandboxConfig(deps, pod, attempt, { warn: false });
  // Ahead of pending sandboxes: pods become ready one after the other instead of all at the end.
  const id = await starts.runUrgent(async () => {
    const request = { podSandboxId: action.sandboxId, config, sandboxConfig: sandbox };
    const { containerId } = await runtime
      .createContainer(request)
      .catch((thrown: unknown) => relistAndThrow(deps, thrown));
    // Recorded before the start, since its exit event may arrive before the start call returns.
    noteContainer(deps, pod, action, { id: containerId, imageID: config.image?.image ?? '' });
    deps.resources.started(podIdentity(pod).uid, action.spec.name, containerId);
    deps.event(pod, 'Normal', 'Created', `Created container ${action.spec.name}`, action.spec);
    await startOrRemove(deps, containerId);
    return containerId;
  }, signal);
  // The start time is the runtime's: a local one would change in the status a moment later.
  await observer.refreshContainer(id);
  const container = deps.view.container(id);
  if (container?.state === 'created') {
    deps.view.noteContainer({ ...container, state: 'running', startedAtMs: deps.clock.now() });
  }
  deps.event(pod, 'Normal', 'Started', `Started container ${action.spec.name}`, action.spec);
  await Promise.all([
    linkLog(deps, pod, action, id),
    postStart(deps, pod, { spec: action.spec, containerId: id }, signal),
  ]);
}

function noteContainer(
  { view, clock }: OperationDeps,
  pod: Pod,
  action: StartAction,
  created: { readonly id: string; readonly imageID: string },
): void {
  view.noteContainer({
    ...created,
    podUID: podIdentity(pod).uid,
    sandboxId: action.sandboxId,
    name: action.spec.name,
    kind: action.containerKind,
    attempt: action.attempt,
    state: 'created',
    createdAtMs: clock.now(),
    startedAtMs: 0,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    // The spelling that the runtime reports.
    image: formatNormalized(parseImageReference(action.spec.image ?? '')),
    hash: containerHash(action.spec),
    fallsBackToLogs: action.spec.terminationMessagePolicy === 'FallbackToLogsOnError',
  });
}

/** Removes a container that failed to start, so that the next attempt creates a new one. */
async function startOrRemove({ runtime, view }: OperationDeps, containerId: string): Promise<void> {
  try {
    await runtime.startContainer({ containerId });
  } catch (thrown) {
    await runtime.removeContainer({ containerId });
    view.forgetContainer(containerId);
    throw new StartError('RunContainerError', asError(thrown).message);
  }
}

async function linkLog({ links, log, settings }: OperationDeps, pod: Pod, action: StartAction, id: string) {
  const { uid, namespace, name } = podIdentity(pod);
  const identity = { namespace, podName: name, containerName: action.spec.name, containerID: id };
  const path = containerLogPath(
    settings.podLogsDir,
    { namespace, name, podUID: uid },
    action.spec.name,
    action.attempt,
  );
  await links
    .link(identity, path)
    .catch((err: unknown) => log.warn({ err, containerID: id }, 'Failed to link container log'));
}

/** Runs the postStart hook and kills the container when it fails; its restart policy decides what follows. A
 *  hook in flight does not delay pod termination: it is aborted when `signal` fires. */
async function postStart(
  deps: OperationDeps,
  pod: Pod,
  { spec, containerId }: { readonly spec: ContainerSpec; readonly containerId: string },
  signal: AbortSignal,
): Promise<void> {
  const handler = spec.lifecycle?.postStart;
  if (handler === undefined) return;
  const ended = new AbortController();
  const unsubscribe = deps.view.onPodChange(podIdentity(pod).uid, () => {
    if (deps.view.container(containerId)?.state !== 'running') ended.abort(new Error('container ended'));
  });
  try {
    const aborted = AbortSignal.any([signal, ended.signal]);
    await deps.runHandler(handler, { pod, container: spec, containerId }, aborted);
  } catch (thrown) {
    if (ended.signal.aborted || signal.aborted) return;
    deps.event(pod, 'Warning', 'FailedPostStartHook', asError(thrown).message, spec);
    const timeout = stopTimeout(pod.spec?.terminationGracePeriodSeconds ?? 30);
    await deps.runtime.stopContainer({ containerId, timeout }, { signal });
    await deps.observer.refreshContainer(containerId);
  } finally {
    unsubscribe();
  }
}
