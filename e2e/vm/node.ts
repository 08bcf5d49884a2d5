/** A node in the VM: the installed agent on the VM's own containerd, and its pods. */
import type { Event, Pod } from '#api/schema/gen/core-v1.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { quote } from './channel.ts';
import { IMAGES_DIR, writePayload } from './payload.ts';
import { bootVm, type CgroupDriver, type Vm } from './vm.ts';

export interface VmNodeOptions {
  /** Of containerd and of the agent; `cgroupfs` unless given. Its kernel has cgroup v2 either way. */
  readonly cgroupDriver?: CgroupDriver;
  /** Further flags of the agent; none may have a space in it. */
  readonly flags?: readonly string[];
}

export interface VmNode extends AsyncDisposable {
  readonly vm: Vm;
  /** Has the agent keep these objects, and run those that are pods. */
  apply(...objects: readonly object[]): Promise<void>;
  remove(kind: string, name: string): Promise<void>;
  pods(): Promise<readonly Pod[]>;
  /** Messages of the events about a pod. */
  events(pod: string): Promise<readonly string[]>;
  /** Waits until the newest instance of the pod's only container says something that fits. Returns what it said. */
  said(pod: string, pattern: RegExp): Promise<string>;
  /** Ends the agent by SIGKILL and waits until another process of it answers. */
  killAgent(): Promise<void>;
  /** Starts the agent again, with these flags in place of those that the node was started with. */
  restartAgent(flags: readonly string[]): Promise<void>;
}

const SOCKET = '/run/nodeagent/nodeagent.sock';
const RUNTIME = 'unix:///run/containerd/containerd.sock';
/** Longest time for anything that the agent does; everything is emulated, on a machine that may be busy. */
const AGENT_TIMEOUT_MS = 120_000;
const LOOK_INTERVAL_MS = 1000;
const DROP_INS = '/etc/systemd/system/nodeagent.service.d';
const UNPACK = 'tar --extract --file /dev/vdb --directory / --no-overwrite-dir';
const START = `
  until systemctl --quiet is-active containerd; do sleep 0.2; done
  for image in ${IMAGES_DIR}/*; do ctr --namespace ${CONTAINERD_CRI_NAMESPACE} images import "$image"; done
  systemctl daemon-reload
  systemctl start nodeagent
  sync`;

/** Boots a VM and starts the agent in it. */
export async function startVmNode(options: VmNodeOptions = {}): Promise<VmNode> {
  const { cgroupDriver = 'cgroupfs', flags = [] } = options;
  const setFlags = setAgentFlags(cgroupDriver);
  await using cleanup = new AsyncDisposableStack();
  const dir = cleanup.use(await createTempDir('na-vm-'));
  const payload = `${dir.path}/payload.tar`;
  await writePayload(payload, RUNTIME);
  const vm = cleanup.use(await bootVm({ payload, cgroupDriver }));
  await vm.sh(`${UNPACK}\n${setFlags(flags)}\n${START}`, AGENT_TIMEOUT_MS);
  const kept = cleanup.move();
  return createNode(vm, setFlags, () => kept.disposeAsync());
}

/** A script that sets the flags with which the agent is started next. */
function setAgentFlags(driver: CgroupDriver): (flags: readonly string[]) => string {
  return (flags) => {
    const line = `NODEAGENT_FLAGS=${[`--cgroup-driver=${driver}`, ...flags].join(' ')}`;
    return `mkdir -p ${DROP_INS}; printf '[Service]\nEnvironment=%s\n' ${quote([`"${line}"`])} >${DROP_INS}/flags.conf`;
  };
}

function createNode(
  vm: Vm,
  setFlags: (flags: readonly string[]) => string,
  dispose: () => Promise<void>,
): VmNode {
  const until = <T>(what: string, look: () => Promise<T>): Promise<Exclude<T, false | null | undefined>> =>
    eventually(look, { what, timeoutMs: AGENT_TIMEOUT_MS, intervalMs: LOOK_INTERVAL_MS });

  async function ask(path: string): Promise<string> {
    return vm.run(['curl', '--silent', '--fail-with-body', '--unix-socket', SOCKET, `http://agent${path}`]);
  }

  async function items<T>(path: string): Promise<readonly T[]> {
    return (JSON.parse(await ask(path)) as { readonly items: readonly T[] }).items;
  }

  return {
    vm,

    async apply(...objects) {
      await vm.write('/run/objects.yaml', objects.map((object) => JSON.stringify(object)).join('\n---\n'));
      await vm.run(['nodeagent', 'apply', '-f', '/run/objects.yaml']);
    },

    async remove(kind, name) {
      await vm.run(['nodeagent', 'delete', kind, name]);
    },

    pods: () => items<Pod>('/pods'),

    async events(pod) {
      const all = await items<Event>('/events');
      return all
        .filter(({ involvedObject }) => involvedObject?.name === pod)
        .map(({ message }) => message ?? '');
    },

    async said(pod, pattern) {
      const logs = quote([`/var/log/pods/default_${pod}_`]);
      const newest = `cat "$(ls -t ${logs}*/*/*.log | head -n 1)"`;
      return until(`${pod} says ${pattern}`, async () => {
        const text = await vm.sh(newest);
        if (pattern.test(text)) return text;
        throw new Error(`it said: ${text}`);
      });
    },

    async killAgent() {
      const pid = await vm.run(['systemctl', 'show', 'nodeagent', '--property=MainPID', '--value']);
      await vm.run(['kill', '-KILL', pid.trim()]);
      await until('the agent answers again', async () => {
        const now = await vm.run(['systemctl', 'show', 'nodeagent', '--property=MainPID', '--value']);
        return now !== pid && (await ask('/healthz')) === 'ok';
      });
    },

    async restartAgent(flags) {
      await vm.sh(
        `${setFlags(flags)}; systemctl daemon-reload; systemctl restart nodeagent`,
        AGENT_TIMEOUT_MS,
      );
    },

    [Symbol.asyncDispose]: dispose,
  };
}
