/** Pulls the images of pods, with events, and a backoff per pod and image: one pull per image and set of logins at
 *  a time, within rate and concurrency limits. Tries the logins in order. */

import { createHash } from 'node:crypto';
import type { Secret } from '#api/gen/core-v1.ts';
import { createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import type { ImageService, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { RegistryCredential } from './credentials.ts';
import type { Keyring } from './keyring.ts';
import type { ImagePresence } from './presence.ts';
import { type ImageReference, imageToPull, repositoryName } from './reference.ts';
import type { EnsureImageRequest, EnsureImageResult, ImageWaiting, ImageWaitingReason } from './types.ts';

export interface PullAttemptDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly puller: Puller;
  readonly presence: ImagePresence;
}

export interface PullAttempts {
  /** Pulls the image, or returns the status to report during the backoff. Rejects only with the signal's reason. */
  attempt(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult>;
  /** Drops the failures of a deleted pod. */
  forgetPod(podUID: string): void;
}

/** Time for which the failure itself is reported; later calls report the back-off. */
const SHOW_FAILURE_MS = 1_000;

/** As upstream: 10 s after the first failure, doubling to 5 min, per pod and image. */
const BACKOFF = { initialMs: 10_000, maxMs: 300_000 } as const;

const SHORTEST_SECRET = 4;

export function createPullAttempts(deps: PullAttemptDeps): PullAttempts {
  const { clock, log, puller, presence } = deps;
  const history = createPullHistory(clock);

  async function pull(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult> {
    const { image, podUID, pullSecrets, sandboxConfig, signal } = request;
    const startedMs = clock.monotonic();
    const tagged = imageToPull(reference);
    request.onEvent?.({ type: 'Normal', reason: 'Pulling', message: `Pulling image "${image}"` });
    const repository = repositoryName(reference);
    const imageRef = await puller.pull({ image: tagged, repository, pullSecrets, sandboxConfig, signal });
    const pullMs = clock.monotonic() - startedMs;
    presence.forget(tagged);
    history.succeed(podUID, image);
    const facts = await presence.find(tagged, signal).catch(() => undefined);
    signal.throwIfAborted();
    const took = `${Math.round(pullMs) / 1000}s`;
    request.onEvent?.({
      type: 'Normal',
      reason: 'Pulled',
      message: `Successfully pulled image "${image}" in ${took}`,
    });
    log.info({ image, podUID, imageRef, pullMs: Math.round(pullMs) }, 'Image pulled');
    return {
      kind: 'present',
      imageRef: facts?.imageRef ?? imageRef,
      pulled: true,
      pullMs,
      sizeBytes: facts?.sizeBytes ?? 0,
    };
  }

  async function attempt(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult> {
    const { image, podUID, signal } = request;
    const waiting = history.waiting(podUID, image);
    if (waiting !== undefined) {
      const message = `Back-off pulling image "${image}"`;
      request.onEvent?.({ type: 'Normal', reason: 'BackOff', message });
      return waiting;
    }
    try {
      return await pull(request, reference);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asError(thrown);
      const failure = classifyPullFailure(image, error.message);
      const backOffUntilMs = history.fail(podUID, image, failure);
      const message = `Failed to pull image "${image}": ${error.message}`;
      request.onEvent?.({ type: 'Warning', reason: 'Failed', message });
      log.warn({ err: error, image, podUID, backOffUntilMs }, 'Image pull failed');
      return { kind: 'waiting', ...failure, retryAtMs: clock.now() + SHOW_FAILURE_MS };
    }
  }

  return { attempt, forgetPod: (podUID) => history.forget(podUID) };
}

interface PullFailure {
  readonly reason: ImageWaitingReason;
  readonly message: string;
}

/** Returns reason and message of a failed pull, classified by the error message of the runtime. */
function classifyPullFailure(image: string, failure: string): PullFailure {
  if (failure.includes('RegistryUnavailable')) {
    return {
      reason: 'RegistryUnavailable',
      message: `image pull failed for ${image} because the registry is unavailable: ${failure}`,
    };
  }
  if (failure.includes('SignatureValidationFailed')) {
    return {
      reason: 'SignatureValidationFailed',
      message: `image pull failed for ${image} because the signature validation failed: ${failure}`,
    };
  }
  return { reason: 'ErrImagePull', message: failure };
}

/** Failures per pod and image. */
interface PullHistory {
  /** Records a failure; returns the wall time (ms) of the next attempt. */
  fail(podUID: string, image: string, failure: PullFailure): number;
  /** Returns the status to report during the backoff; undefined when an attempt is due. */
  waiting(podUID: string, image: string): ImageWaiting | undefined;
  succeed(podUID: string, image: string): void;
  forget(podUID: string): void;
}

function createPullHistory(clock: Clock): PullHistory {
  const backoff = createBackoff(BACKOFF);
  const failures = new Map<string, Map<string, PullFailure>>();
  const keyOf = (podUID: string, image: string): string => `${podUID}_${image}`;
  return {
    fail(podUID, image, failure) {
      const ofPod = failures.get(podUID) ?? new Map<string, PullFailure>();
      failures.set(podUID, ofPod.set(image, failure));
      return clock.now() + backoff.fail(keyOf(podUID, image), clock.now());
    },
    waiting(podUID, image) {
      const retryAtMs = backoff.readyAt(keyOf(podUID, image), clock.now());
      if (clock.now() >= retryAtMs) return undefined;
      const last = failures.get(podUID)?.get(image);
      const detail = last === undefined ? '' : `: ${last.reason}: ${last.message}`;
      const message = `Back-off pulling image "${image}"${detail}`;
      return { kind: 'waiting', reason: 'ImagePullBackOff', message, retryAtMs };
    },
    succeed(podUID, image) {
      backoff.reset(keyOf(podUID, image));
      failures.get(podUID)?.delete(image);
    },
    forget(podUID) {
      for (const image of failures.get(podUID)?.keys() ?? []) backoff.reset(keyOf(podUID, image));
      failures.delete(podUID);
    },
  };
}

/** A pull that failed with every login; the message contains no credentials. */
class ImagePullError extends Error {
  override readonly name = 'ImagePullError';
}

export interface PullRequest {
  /** Image name for the runtime. */
  readonly image: string;
  /** Normalized name for the lookup of logins. */
  readonly repository: string;
  readonly pullSecrets: readonly Secret[];
  readonly sandboxConfig: MessageInput<PodSandboxConfig> | undefined;
  readonly signal: AbortSignal;
}

interface Puller {
  /** Pulls the image and returns its ID in the runtime.
   *  @throws {ImagePullError} or {CredentialFormatError} */
  pull(request: PullRequest): Promise<string>;
}

export interface PullerConfig {
  readonly serializeImagePulls: boolean;
  /** Maximum number of concurrent pulls when they are not serialized; default unlimited. */
  readonly maxParallelImagePulls?: number;
  /** Average number of pulls per second; 0 means unlimited. */
  readonly registryPullQPS: number;
  /** Burst of pulls after an idle period. */
  readonly registryBurst: number;
}

export interface PullerDeps {
  readonly images: Pick<ImageService, 'pullImage'>;
  readonly clock: Clock;
  readonly credentials: Keyring;
}

/** Redacts logins in a message of the runtime: the values themselves, and user info in URLs. */
export function redactCredentials(message: string, credentials: readonly RegistryCredential[]): string {
  const secrets = credentials
    .flatMap(({ username, password, identityToken, registryToken }) => [
      password,
      identityToken,
      registryToken,
      password === '' ? '' : Buffer.from(`${username}:${password}`).toString('base64'),
    ])
    // Redacting a very short text would tear words apart and reveal it by the gaps.
    .filter((secret) => secret.length >= SHORTEST_SECRET);
  const withoutValues = secrets.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message);
  return withoutValues.replace(/:\/\/[^/@\s"']+@/g, '://[redacted]@');
}

function flightKey(image: string, credentials: readonly RegistryCredential[]): string {
  const fingerprint = createHash('sha256').update(JSON.stringify(credentials)).digest('hex');
  return `${image} ${fingerprint}`;
}

export function createPuller(deps: PullerDeps, config: PullerConfig): Puller {
  const { images, clock, credentials } = deps;
  const flights = createSingleFlight<string>();
  const limit = config.serializeImagePulls ? 1 : (config.maxParallelImagePulls ?? Number.POSITIVE_INFINITY);
  const limiter = createLimiter(limit);
  // Deviation: a pull above the rate waits, where upstream fails it and backs off for seconds.
  const bucket = createTokenBucket(clock, {
    ratePerSecond: config.registryPullQPS,
    burst: config.registryBurst,
  });

  async function pullOnce(
    request: PullRequest,
    auth: RegistryCredential | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    await bucket.take(signal);
    const response = await images.pullImage(
      { image: { image: request.image }, auth, sandboxConfig: request.sandboxConfig },
      { signal, timeoutMs: 0 },
    );
    return response.imageRef;
  }

  async function pullWithAny(
    request: PullRequest,
    logins: readonly RegistryCredential[],
    signal: AbortSignal,
  ): Promise<string> {
    const messages: string[] = [];
    for (const login of logins.length === 0 ? [undefined] : logins) {
      try {
        return await pullOnce(request, login, signal);
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        const message = redactCredentials(asError(thrown).message, logins);
        if (!messages.includes(message)) messages.push(message);
      }
    }
    // No cause: the error of the runtime may quote what was redacted.
    throw new ImagePullError(messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`);
  }

  return {
    async pull(request) {
      const { repository, pullSecrets, signal } = request;
      const logins = await credentials.lookup({ repository, pullSecrets, signal });
      return await flights.run(
        flightKey(request.image, logins),
        (shared) => limiter.run(() => pullWithAny(request, logins, shared), shared),
        signal,
      );
    },
  };
}
