/** Builder of container images as OCI image layouts in a tar archive, which docker loads as well, without external tools or a registry.
 *  Pure and deterministic: the same description yields the same digests. */
import { createHash } from 'node:crypto';
import { createTar, type TarEntry } from './tar.ts';

export interface ImageDescription {
  /** Full name with registry and tag, as the runtime stores it: `docker.io/local/busybox:1`. */
  readonly name: string;
  readonly entries: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** `NAME=value`. */
  readonly env?: readonly string[];
  /** `uid`, `uid:gid` or a name from the image's passwd file. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly stopSignal?: string;
}

export interface ImageArchive {
  readonly name: string;
  /** `sha256:…` of the configuration: the id that CRI reports for the image. */
  readonly configDigest: string;
  /** `sha256:…` of the manifest: the target of the image name. */
  readonly manifestDigest: string;
  readonly tar: Buffer;
}

interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
}

/** Architecture names of OCI by those of Node. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', riscv64: 'riscv64' };

/** @see https://github.com/opencontainers/image-spec image-layout.md, manifest.md and config.md */
export function buildImageArchive(image: ImageDescription, arch: string = process.arch): ImageArchive {
  const layer = toBlob(createTar(image.entries));
  const config = jsonBlob(imageConfig(image, layer.digest, ARCHITECTURES[arch] ?? arch));
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: [descriptor('application/vnd.oci.image.layer.v1.tar', layer)],
  });
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        annotations: { 'io.containerd.image.name': image.name },
      },
    ],
  };
  return {
    name: image.name,
    configDigest: config.digest,
    manifestDigest: manifest.digest,
    tar: createTar([
      file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')),
      file('index.json', Buffer.from(JSON.stringify(index))),
      // The form of `docker save`, for the same blobs.
      file('manifest.json', Buffer.from(JSON.stringify([dockerManifest(image.name, config, layer)]))),
      { kind: 'directory', path: 'blobs', mode: 0o755 },
      { kind: 'directory', path: 'blobs/sha256', mode: 0o755 },
      ...[layer, config, manifest].map((blob) => file(blobPath(blob), blob.bytes)),
    ]),
  };
}

const blobPath = ({ digest }: Blob): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;

const dockerManifest = (name: string, config: Blob, layer: Blob): object => ({
  Config: blobPath(config),
  RepoTags: [name],
  Layers: [blobPath(layer)],
});

function imageConfig(image: ImageDescription, diffId: string, architecture: string): object {
  return {
    architecture,
    os: 'linux',
    config: {
      Entrypoint: image.entrypoint,
      Cmd: image.command,
      Env: image.env,
      User: image.user,
      WorkingDir: image.workingDir,
      Labels: image.labels,
      StopSignal: image.stopSignal,
    },
    rootfs: { type: 'layers', diff_ids: [diffId] },
  };
}

function toBlob(bytes: Buffer): Blob {
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes };
}

function jsonBlob(value: object): Blob {
  return toBlob(Buffer.from(JSON.stringify(value)));
}

function descriptor(mediaType: string, blob: Blob): object {
  return { mediaType, digest: blob.digest, size: blob.bytes.length };
}

function file(path: string, content: Uint8Array): TarEntry {
  return { kind: 'file', path, mode: 0o644, content };
}
