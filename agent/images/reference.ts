/** Image references: `[host[:port]/]path[:tag][@digest]`. Parses and normalizes them; never contacts a
 *  registry.
 *  Grammar: the reference format of the distribution specification and of every CRI runtime. */

export interface ImageReference {
  /** The original text. */
  readonly text: string;
  /** Registry host with its port; default `docker.io`. */
  readonly domain: string;
  /** Repository path within the registry, with `library/` added for official images. */
  readonly path: string;
  readonly tag: string | undefined;
  /** `sha256:…`, for a pinned reference. */
  readonly digest: string | undefined;
}

/** A reference that every runtime rejects. */
export class ImageReferenceError extends Error {
  override readonly name = 'ImageReferenceError';
  readonly reason = 'InvalidImageName';
}

const DEFAULT_DOMAIN = 'docker.io';
/** Old name of the default registry, still used in credential files. */
const LEGACY_DEFAULT_DOMAIN = 'index.docker.io';
const OFFICIAL_PREFIX = 'library/';
const DEFAULT_TAG = 'latest';
const LONGEST_NAME = 255;

/** Words joined by `.`, `_`, `__` or any number of `-`. */
const PATH_COMPONENT = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;
const NO_SEPARATOR = /\.[._-]|[_-]\.|_-|-_|___/;
const DOMAIN_LABEL = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/;
const IPV6_HOST = /^\[[0-9a-fA-F:]+\]$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const BARE_IDENTIFIER = /^[0-9a-f]{64}$/;
/** Number of hexadecimal digits by digest algorithm. */
const DIGEST_LENGTHS: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

const isPathComponent = (text: string): boolean => PATH_COMPONENT.test(text) && !NO_SEPARATOR.test(text);

function isDomain(text: string): boolean {
  const match = /^(.+?)(?::(\d+))?$/.exec(text);
  const host = match?.[1] ?? '';
  return IPV6_HOST.test(host) || host.split('.').every((label) => DOMAIN_LABEL.test(label));
}

/** The first component is a registry if it cannot be a path component. */
function splitDomain(name: string): { readonly domain: string; readonly path: string } {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const isHost = /[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first;
  const domain = isHost ? first : DEFAULT_DOMAIN;
  const path = isHost ? name.slice(slash + 1) : name;
  if (domain !== DEFAULT_DOMAIN && domain !== LEGACY_DEFAULT_DOMAIN) return { domain, path };
  return { domain: DEFAULT_DOMAIN, path: path.includes('/') ? path : OFFICIAL_PREFIX + path };
}

function checkDigest(digest: string): void {
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = DIGEST_LENGTHS[algorithm];
  if (length === undefined) throw new ImageReferenceError(`unsupported digest algorithm ${algorithm}`);
  if (hex.length !== length || hex !== hex.toLowerCase()) {
    throw new ImageReferenceError(`a ${algorithm} digest has ${length} lowercase hexadecimal digits`);
  }
}

function splitTagAndDigest(text: string): Pick<ImageReference, 'tag' | 'digest'> & { readonly name: string } {
  const at = text.indexOf('@');
  const digest = at < 0 ? undefined : text.slice(at + 1);
  const rest = at < 0 ? text : text.slice(0, at);
  if (digest !== undefined) {
    if (!DIGEST.test(digest)) throw new ImageReferenceError('invalid reference format: bad digest');
    checkDigest(digest);
  }
  const colon = rest.lastIndexOf(':');
  if (colon < 0 || rest.indexOf('/', colon) >= 0) return { name: rest, tag: undefined, digest };
  const tag = rest.slice(colon + 1);
  if (!TAG.test(tag)) throw new ImageReferenceError('invalid reference format: bad tag');
  return { name: rest.slice(0, colon), tag, digest };
}

/** Parses a reference and adds the default registry and the `library/` prefix, but no tag.
 *  @throws {ImageReferenceError} */
export function parseImageReference(text: string): ImageReference {
  if (BARE_IDENTIFIER.test(text)) {
    throw new ImageReferenceError('a bare 64-digit image identifier is not a repository name');
  }
  const { name, tag, digest } = splitTagAndDigest(text);
  const { domain, path } = splitDomain(name);
  if (path !== path.toLowerCase()) {
    throw new ImageReferenceError('invalid reference format: repository name must be lowercase');
  }
  if (!isDomain(domain) || !path.split('/').every(isPathComponent)) {
    throw new ImageReferenceError('invalid reference format');
  }
  if (domain.length + 1 + path.length > LONGEST_NAME) {
    throw new ImageReferenceError(`repository name must not be more than ${LONGEST_NAME} characters`);
  }
  return { text, domain, path, tag, digest };
}

/** Returns `docker.io/library/busybox`, the key for looking up credentials. */
export function repositoryName(reference: ImageReference): string {
  return `${reference.domain}/${reference.path}`;
}

/** Returns the image name for the runtime: the original spelling, with `:latest` if it has neither tag nor
 *  digest. Adds no registry: resolving short names is left to the runtime. */
export function imageToPull(reference: ImageReference): string {
  const isPinned = reference.tag !== undefined || reference.digest !== undefined;
  return isPinned ? reference.text : `${reference.text}:${DEFAULT_TAG}`;
}

/** Returns `docker.io/library/busybox:1.36@sha256:…`, the canonical spelling of equal references. */
export function formatNormalized(reference: ImageReference): string {
  const isPinned = reference.tag !== undefined || reference.digest !== undefined;
  const tag = reference.tag ?? (isPinned ? undefined : DEFAULT_TAG);
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`;
  return `${repositoryName(reference)}${tag === undefined ? '' : `:${tag}`}${digest}`;
}
