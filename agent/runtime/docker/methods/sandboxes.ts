/** Methods of sandboxes. */
import { asError } from '#api/kit/errno.ts';
import type {
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  PodSandboxConfig,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  RemovePodSandboxRequest,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  StopPodSandboxRequest,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { isMissing } from '../client/errors.ts';
import { type NetworkKind, type SandboxNote, sandboxNoteLabels } from '../config/labels.ts';
import { sandboxName } from '../config/names.ts';
import { isHost, sandboxBody } from '../config/sandbox-body.ts';
import { securityOptions } from '../config/security.ts';
import { requireSupportedSandbox } from '../config/unsupported.ts';
import { type DockerContext, nowNs, requireSandbox } from '../context.ts';
import { pullImage } from '../images/pull.ts';
import { createdSandbox } from '../state/mirror.ts';
import type { SandboxRecord } from '../state/records.ts';
import { readProfile } from './seccomp.ts';
import { matchesSandbox, viewSandbox, viewSandboxStatus } from './views.ts';

export function sandboxKey(node: string, { metadata }: Pick<PodSandboxConfig, 'metadata'>): string {
  if (metadata === undefined)
    throw new CallRejection('InvalidArgument', 'config.metadata: required value missing');
  return sandboxName(node, metadata);
}

function networkOf({ networks }: DockerContext, config: PodSandboxConfig): NetworkKind {
  if (isHost(config.linux?.securityContext?.namespaceOptions?.network)) return 'host';
  return networks.usesPlugins ? 'plugins' : 'docker';
}

const SUPPORT = { seccomp: 'seccomp', apparmor: 'apparmor' } as const;

export function supportOf({ daemon }: Pick<DockerContext, 'daemon'>): {
  readonly seccomp: boolean;
  readonly apparmor: boolean;
} {
  const { security } = daemon();
  return { seccomp: security.has(SUPPORT.seccomp), apparmor: security.has(SUPPORT.apparmor) };
}

async function createSandbox(context: DockerContext, key: string, note: SandboxNote): Promise<string> {
  const { client, codec, node, files } = context;
  const { config, network, runtimeHandler } = note;
  const security = await readProfile(securityOptions(config.linux?.securityContext, supportOf(context)));
  const body = sandboxBody({
    config,
    image: context.sandboxImage,
    labels: sandboxNoteLabels(codec, node, note),
    network,
    runtimeHandler,
    security,
    resolvConf: await files.writeResolver(key, config.dnsConfig),
    cgroupDriver: context.daemon().cgroupDriver,
    lowestOomScore: context.lowestOomScore(),
  });
  try {
    return await client.create(key, body);
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
    await pullImage(context, { image: context.sandboxImage, auth: undefined });
    return client.create(key, body);
  }
}

/** Starts a sandbox and its network. Undone by the caller if it fails. */
async function startSandbox(context: DockerContext, key: string, record: SandboxRecord): Promise<void> {
  const { client, files, networks, mirror } = context;
  const { id, note } = record;
  const { config } = note;
  if (note.network === 'host') {
    await client.start(id);
    mirror.put({ ...record, isReady: true });
    return;
  }
  // Written before anything exists that only the checkpoint can release.
  if (note.network === 'plugins') await files.save(key, { id, config, addresses: [] });
  await client.start(id);
  if (note.network === 'plugins') {
    const { pid } = await client.inspect(id);
    const addresses = await networks.setUp({ id, config, namespace: `/proc/${pid}/ns/net` });
    await files.save(key, { id, config, addresses });
    mirror.put({ ...record, isReady: true, addresses });
    return;
  }
  await mirror.settle(id);
}

async function tearDownNetwork(context: DockerContext, record: SandboxRecord): Promise<void> {
  const { client, networks } = context;
  const { id, note, isReady } = record;
  if (note.network !== 'plugins') return;
  const pid = isReady
    ? await client.inspect(id).then(
        (one) => one.pid,
        () => 0,
      )
    : 0;
  await networks.tearDown({ id, config: note.config, namespace: pid > 0 ? `/proc/${pid}/ns/net` : '' });
}

/** Kills the containers of a sandbox, releases its network, and kills its own container. */
async function stopSandbox(context: DockerContext, record: SandboxRecord): Promise<void> {
  const { client, mirror } = context;
  const running = mirror
    .containers()
    .filter(({ note, phase }) => note.sandboxId === record.id && phase === 'running');
  await Promise.all(
    running.map(async ({ id }) => {
      await client.kill(id);
      await mirror.settle(id);
    }),
  );
  await tearDownNetwork(context, record);
  if (!record.isReady) return;
  await client.kill(record.id).catch(ignoreMissing);
  await mirror.settle(record.id);
}

function ignoreMissing(thrown: unknown): void {
  if (!isMissing(thrown)) throw asError(thrown);
}

async function removeSandbox(context: DockerContext, record: SandboxRecord): Promise<void> {
  const { client, mirror, files, node } = context;
  await stopSandbox(context, record);
  const own = mirror.containers().filter(({ note }) => note.sandboxId === record.id);
  await Promise.all(
    own.map(async ({ id }) => {
      await client.remove(id);
      mirror.remove(id);
    }),
  );
  await client.remove(record.id);
  mirror.remove(record.id);
  await files.remove(sandboxKey(node, record.note.config));
}

/** The process of a container in the form of other runtimes. */
export async function processInfo(
  { client }: Pick<DockerContext, 'client'>,
  id: string,
): Promise<Readonly<Record<string, string>>> {
  const { pid } = await client.inspect(id);
  return { info: JSON.stringify({ pid }) };
}

export interface SandboxMethods {
  runPodSandbox(request: RunPodSandboxRequest): Promise<MessageInput<RunPodSandboxResponse>>;
  stopPodSandbox(request: StopPodSandboxRequest): Promise<object>;
  removePodSandbox(request: RemovePodSandboxRequest): Promise<object>;
  podSandboxStatus(request: PodSandboxStatusRequest): Promise<MessageInput<PodSandboxStatusResponse>>;
  listPodSandbox(request: ListPodSandboxRequest): Promise<MessageInput<ListPodSandboxResponse>>;
}

export function sandboxMethods(context: DockerContext): SandboxMethods {
  const { clock, log, mirror, node, creating } = context;

  function find(id: string): SandboxRecord | undefined {
    const record = mirror.get(id);
    return record?.kind === 'sandbox' ? record : undefined;
  }

  async function runSandbox(key: string, note: SandboxNote): Promise<string> {
    const id = await createSandbox(context, key, note);
    const created = createdSandbox(note, id, nowNs(clock));
    try {
      await startSandbox(context, key, created);
    } catch (thrown) {
      // It may run although its start has failed.
      await removeSandbox(context, { ...created, isReady: true }).catch((err: unknown) =>
        log.warn({ err: asError(err), sandboxId: id }, 'Failed to remove sandbox'),
      );
      throw thrown;
    }
    return id;
  }

  return {
    async runPodSandbox({ config, runtimeHandler }) {
      if (config === undefined) throw new CallRejection('InvalidArgument', 'config: required value missing');
      requireSupportedSandbox(config);
      const key = sandboxKey(node, config);
      const note: SandboxNote = {
        kind: 'sandbox',
        config,
        runtimeHandler,
        network: networkOf(context, config),
      };
      creating.add(key);
      try {
        return { podSandboxId: await runSandbox(key, note) };
      } finally {
        creating.delete(key);
      }
    },
    async stopPodSandbox({ podSandboxId }) {
      const record = find(podSandboxId);
      if (record !== undefined) await stopSandbox(context, record);
      return {};
    },
    async removePodSandbox({ podSandboxId }) {
      const record = find(podSandboxId);
      if (record !== undefined) await removeSandbox(context, record);
      return {};
    },
    async podSandboxStatus({ podSandboxId, verbose }) {
      const status = viewSandboxStatus(requireSandbox(context, podSandboxId));
      return verbose ? { status, info: await processInfo(context, podSandboxId) } : { status };
    },
    async listPodSandbox({ filter }) {
      return {
        items: mirror
          .sandboxes()
          .filter((record) => matchesSandbox(record, filter))
          .map(viewSandbox),
      };
    },
  };
}
