/** Pulls images: one pull per image and set of logins at a time, within the rate and concurrency allowed.
 *  Tries the logins in turn. Knows nothing of pods, policies or backoff. */
import { createHash } from 'node:crypto';
import { asError, type Clock } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import type { Secret } from '#api/schema/gen/core-v1.ts';
import type { ImageService, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { RegistryCredential } from './credentials.ts';
import type { Keyring } from './keyring.ts';

/** A pull that failed with every login; its message holds no credential. */
export class ImagePullError extends Error {
  override readonly name = 'ImagePullError';
}

export interface PullRequest {
  /** What the runtime is asked for. */
  readonly image: string;
  /** Normalised name for the lookup of logins. */
  readonly repository: string;
  readonly pullSecrets: readonly Secret[];
  readonly sandboxConfig: MessageInput<PodSandboxConfig> | undefined;
  readonly signal: AbortSignal;
}

export interface Puller {
  /** Pulls and returns the runtime's ID of the image.
   * @throws {ImagePullError} or {CredentialFormatError}. */
  pull(request: PullRequest): Promise<string>;
}

export interface PullerConfig {
  readonly serializeImagePulls: boolean;
  /** Most pulls at once when they are not serialized; no limit unless given. */
  readonly maxParallelImagePulls?: number;
  /** Pulls per second on average; 0 means no limit. */
  readonly registryPullQPS: number;
  /** Pulls that may start at once after a quiet time. */
  readonly registryBurst: number;
}

export interface PullerDeps {
  readonly images: Pick<ImageService, 'pullImage'>;
  readonly clock: Clock;
  readonly credentials: Keyring;
}

const SHORTEST_SECRET = 4;

/** Takes logins out of a runtime's message: the values themselves, and user info in URLs. */
export function redactCredentials(message: string, credentials: readonly RegistryCredential[]): string {
  const secrets = credentials
    .flatMap(({ username, password, identityToken, registryToken }) => [
      password,
      identityToken,
      registryToken,
      password === '' ? '' : Buffer.from(`${username}:${password}`).toString('base64'),
    ])
    // Cutting a very short text out would tear words apart and show by its gaps what it is.
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
  // Deviation: a pull above the rate waits for its turn, where upstream fails it and backs off for seconds.
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
    // No cause: the runtime's own error may quote what was redacted.
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
