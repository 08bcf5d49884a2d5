/** Pulls images: one pull per image and set of logins at a time, within rate and concurrency limits.
 *  Tries the logins in order. Does not know pods, policies or backoff. */
import { createHash } from 'node:crypto';
import type { Secret } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import type { ImageService, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { RegistryCredential } from './credentials.ts';
import type { Keyring } from './keyring.ts';

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

export interface Puller {
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

const SHORTEST_SECRET = 4;

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
