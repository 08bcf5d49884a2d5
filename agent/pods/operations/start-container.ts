/** Start of one container: create, start, log link, postStart hook. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Limiter } from '#api/kit/limiter.ts';
import { isNotFound } from '#cri/errors.ts';
import type { ContainerConfig, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { VolumeError } from '#volumes/errors/volume-error.ts';
import type { RunHandler } from '../../hooks/lifecycle.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import { formatNormalized, parseImageReference } from '../../images/reference.ts';
import type { LogLinks } from '../../logs/links.ts';
import { nextAttempt } from '../../logs/next-attempt.ts';
import { containerLogPath } from '../../logs/paths.ts';
import type { Observer } from '../../observe/observer.ts';
import type { IdentifiedPod } from '../../pod-identity/identity.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import { containerHash } from '../../runtime/config/hash.ts';
import { stopTimeout } from '../../runtime/stop-timeout.ts';
import type { ActionOf, ContainerSpec } from '../decide/decision-types.ts';
import { type ContainerConfigDeps, containerConfig, ensureImage, StartError } from './container-config.ts';
import { type RelistDeps, relistAndThrow, type SandboxConfigDeps, sandboxConfig } from './sandbox.ts';

type StartAction = ActionOf<'startContainer'>;

/** Outcome of a start: running, or the reason that the container status shows until the next attempt. */
export type StartOutcome =
  | { readonly kind: 'started' }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly message: string;
      /** Wall time (ms) of the next attempt, where the cause knows it better than the backoff of the worker. */
      readonly retryAtMs?: number;
    };

type Failure = Extract<StartOutcome, { kind: 'failed' }>;

export interface StartDeps extends ContainerConfigDeps, SandboxConfigDeps, RelistDeps {
  readonly runtime: Pick<
    RuntimeService,
    'createContainer' | 'startContainer' | 'stopContainer' | 'removeContainer'
  >;
  readonly images: Pick<ImageManager, 'ensureImage' | 'imageUser' | 'invalidateImage'>;
  readonly resources: Pick<ResourceManagers, 'grant' | 'started'>;
  readonly observer: Pick<Observer, 'relist' | 'refreshContainer'>;
  readonly links: Pick<LogLinks, 'link'>;
  readonly runHandler: RunHandler;
  /** Limits concurrent starts to the number at which the runtime is fastest. */
  readonly starts: Pick<Limiter, 'runUrgent'>;
  readonly settings: ContainerConfigDeps['settings'] & SandboxConfigDeps['settings'];
  readonly clock: Clock;
}

/** Starts the container of the action. Volumes are those that `mountPod` returned.
 *  Never throws for an invalid container; rejects when `signal` fires. */
export async function startContainer(
  deps: StartDeps,
  target: IdentifiedPod,
  action: StartAction,
  volumes: ReadonlyMap<string, MountedVolume>,
  signal: AbortSignal,
): Promise<StartOutcome> {
  try {
    const image = await ensureImage(deps, target, action, signal);
    const withAttempt = { ...action, attempt: await attemptOf(deps, target, action) };
    const config = await containerConfig(deps, target, withAttempt, { image, volumes });
    signal.throwIfAborted();
    await createAndStart(deps, target, withAttempt, { config, signal });
    return { kind: 'started' };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    // The image may have been removed externally: inspect it again before the next attempt.
    if (isNotFound(thrown)) deps.images.invalidateImage(action.spec.image);
    return asFailure(deps.event, target.pod, action.spec, thrown);
  }
}

/** Includes instances that have disappeared from the runtime. */
async function attemptOf(
  { settings: { podLogsDir } }: Pick<StartDeps, 'settings'>,
  target: IdentifiedPod,
  { spec, attempt, previous }: StartAction,
): Promise<number> {
  if (previous !== undefined) return attempt;
  return Math.max(attempt, await nextAttempt(podLogsDir, target, spec.name));
}

function asFailure(event: StartDeps['event'], pod: Pod, spec: ContainerSpec, thrown: unknown): Failure {
  if (thrown instanceof StartError) {
    const { reason, message, retryAtMs } = thrown;
    if (!IMAGE_REASONS.has(reason)) event(pod, 'Warning', 'Failed', `Error: ${message}`, spec);
    return { kind: 'failed', reason, message, ...(retryAtMs === undefined ? {} : { retryAtMs }) };
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

async function createAndStart(
  deps: StartDeps,
  target: IdentifiedPod,
  action: StartAction,
  { config, signal }: { config: MessageInput<ContainerConfig>; signal: AbortSignal },
): Promise<void> {
  const { runtime, starts, observer } = deps;
  const { pod, uid } = target;
  const attempt = deps.view.sandbox(action.sandboxId)?.attempt ?? 0;
  const sandbox = await sandboxConfig(deps, target, attempt, { warn: false });
  // Ahead of pending sandboxes: pods become ready one after the other instead of all at the end.
  const id = await starts.runUrgent(async () => {
    const request = { podSandboxId: action.sandboxId, config, sandboxConfig: sandbox };
    const { containerId } = await runtime
      .createContainer(request)
      .catch((thrown: unknown) => relistAndThrow(deps, thrown));
    // Recorded before the start, since its exit event may arrive before the start call returns.
    noteContainer(deps, uid, action, { id: containerId, imageID: config.image?.image ?? '' });
    deps.resources.started(uid, action.spec.name, containerId);
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
    linkLog(deps, target, action, id),
    postStart(deps, target, { spec: action.spec, containerId: id }, signal),
  ]);
}

function noteContainer(
  { view, clock }: Pick<StartDeps, 'view' | 'clock'>,
  podUID: string,
  action: StartAction,
  created: { readonly id: string; readonly imageID: string },
): void {
  view.noteContainer({
    ...created,
    podUID,
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
async function startOrRemove(
  { runtime, view }: Pick<StartDeps, 'runtime' | 'view'>,
  containerId: string,
): Promise<void> {
  try {
    await runtime.startContainer({ containerId });
  } catch (thrown) {
    await runtime.removeContainer({ containerId });
    view.forgetContainer(containerId);
    throw new StartError('RunContainerError', asError(thrown).message);
  }
}

async function linkLog(
  { links, log, settings }: Pick<StartDeps, 'links' | 'log' | 'settings'>,
  target: IdentifiedPod,
  { spec, attempt }: StartAction,
  id: string,
): Promise<void> {
  const { namespace, name } = target;
  const identity = { namespace, podName: name, containerName: spec.name, containerID: id };
  const path = containerLogPath(settings.podLogsDir, target, spec.name, attempt);
  await links
    .link(identity, path)
    .catch((err: unknown) => log.warn({ err, containerID: id }, 'Failed to link container log'));
}

/** Runs the postStart hook and kills the container when it fails; its restart policy decides what follows. A
 *  hook in flight does not delay pod termination: it is aborted when `signal` fires. */
async function postStart(
  deps: StartDeps,
  { pod, uid }: IdentifiedPod,
  { spec, containerId }: { readonly spec: ContainerSpec; readonly containerId: string },
  signal: AbortSignal,
): Promise<void> {
  const handler = spec.lifecycle?.postStart;
  if (handler === undefined) return;
  const ended = new AbortController();
  const unsubscribe = deps.view.onPodChange(uid, () => {
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
