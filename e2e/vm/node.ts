/** A node in the VM: the installed agent on the VM's own containerd, and its pods. */
import type { Event, Pod } from '#api/schema/gen/core-v1.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { quote } from './channel.ts';
import { IMAGES_DIR, writePayload } from './payload.ts';
import { bootVm, type Vm } from './vm.ts';

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
}

const SOCKET = '/run/nodeagent/nodeagent.sock';
const RUNTIME = 'unix:///run/containerd/containerd.sock';
/** Longest time for anything that the agent does; everything is emulated, on a machine that may be busy. */
const AGENT_TIMEOUT_MS = 120_000;
const LOOK_INTERVAL_MS = 1000;
const SET_UP = `
  tar --extract --file /dev/vdb --directory / --no-overwrite-dir
  until systemctl --quiet is-active containerd; do sleep 0.2; done
  for image in ${IMAGES_DIR}/*; do ctr --namespace ${CONTAINERD_CRI_NAMESPACE} images import "$image"; done
  systemctl daemon-reload
  systemctl start nodeagent
  sync`;

/** Boots a VM and starts the agent in it. */
export async function startVmNode(): Promise<VmNode> {
  await using cleanup = new AsyncDisposableStack();
  const dir = cleanup.use(await createTempDir('na-vm-'));
  const payload = `${dir.path}/payload.tar`;
  await writePayload(payload, RUNTIME);
  const vm = cleanup.use(await bootVm({ payload }));
  await vm.sh(SET_UP, AGENT_TIMEOUT_MS);
  const kept = cleanup.move();
  return createNode(vm, () => kept.disposeAsync());
}

function createNode(vm: Vm, dispose: () => Promise<void>): VmNode {
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

    [Symbol.asyncDispose]: dispose,
  };
}
