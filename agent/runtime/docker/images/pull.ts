/** Pulls of images: logins, and the end of a pull that makes no progress. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import type { AuthConfig } from '#cri/gen/cri-v1.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { ImageReferenceError, parseImageReference, repositoryName } from '../../../images/reference.ts';
import type { DockerClient } from '../client/docker-client.ts';
import { DockerError } from '../client/errors.ts';
import { readLines } from '../client/lines.ts';
import type { DockerImage } from '../client/parse.ts';
import type { ImageIndex } from './index.ts';

export interface PullDeps {
  readonly clock: Clock;
  readonly client: Pick<DockerClient, 'pull' | 'image'>;
  readonly images: Pick<ImageIndex, 'remember'>;
  /** Time without progress after which a pull is cancelled. */
  readonly progressDeadlineMs: number;
}

export interface PullInput {
  readonly image: string;
  readonly auth: AuthConfig | undefined;
}

/** Encodes a login in docker's header; undefined without one. Pure. */
export function encodeAuth(auth: AuthConfig | undefined): string | undefined {
  if (auth === undefined) return undefined;
  // Some clients pad it with zero bytes.
  const pair = trimEnd(Buffer.from(auth.auth, 'base64').toString('utf8'), '\0');
  const colon = pair.indexOf(':');
  const username = auth.username || (colon < 0 ? '' : pair.slice(0, colon));
  const password = auth.password || (colon < 0 ? '' : pair.slice(colon + 1));
  const login = {
    username,
    password,
    serveraddress: auth.serverAddress,
    ...(auth.identityToken === '' ? {} : { identitytoken: auth.identityToken }),
    ...(auth.registryToken === '' ? {} : { registrytoken: auth.registryToken }),
  };
  return Buffer.from(JSON.stringify(login)).toString('base64url');
}

/** Splits a reference into docker's parameters. Pure. @throws CallRejection */
export function splitReference(image: string): { readonly repository: string; readonly tag: string } {
  try {
    const reference = parseImageReference(image);
    return { repository: repositoryName(reference), tag: reference.digest ?? reference.tag ?? 'latest' };
  } catch (thrown) {
    if (!(thrown instanceof ImageReferenceError)) throw thrown;
    throw new CallRejection('InvalidArgument', `image ${JSON.stringify(image)}: ${thrown.message}`, thrown);
  }
}

/** @throws CallRejection `DeadlineExceeded` when there is no progress; DockerError */
export async function pullImage(deps: PullDeps, { image, auth }: PullInput): Promise<DockerImage> {
  const { clock, client, images, progressDeadlineMs } = deps;
  const stop = new AbortController();
  let timer: Timer | undefined;
  function restart(): void {
    timer?.cancel();
    if (progressDeadlineMs <= 0) return;
    timer = clock.setTimer(() => {
      const message = `pull of ${image} made no progress for ${progressDeadlineMs / 1000} s`;
      stop.abort(new CallRejection('DeadlineExceeded', message));
    }, progressDeadlineMs);
  }
  restart();
  try {
    const request = { ...splitReference(image), registryAuth: encodeAuth(auth), signal: stop.signal };
    const stream = await client.pull(request);
    stop.signal.addEventListener('abort', () => stream.destroy(asError(stop.signal.reason)), { once: true });
    for await (const line of readLines(stream)) {
      restart();
      const failure = isObject(line) ? textOf(line['error']) : '';
      if (failure !== '') throw new DockerError('Unknown', `pull image: ${failure}`);
    }
  } finally {
    timer?.cancel();
  }
  const pulled = await client.image(image);
  if (pulled === undefined)
    throw new DockerError('NotFound', `pull image: ${image} is not present after the pull`);
  images.remember(pulled);
  return pulled;
}
