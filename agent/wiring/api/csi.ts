/** Wires CSI with an API server: attaching, and the CSINode of the node. */
import type { Attacher } from '#volumes/contract/csi.ts';
import type { ApiClient } from '../../api-client/client.ts';
import { createAttacher } from '../../csi/attacher.ts';
import { runCsiNode } from '../../csi/csi-node.ts';
import { createPodEvent } from '../../pods/pod-event.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import type { Base } from '../base.ts';
import { gatesOf, retryCsiPods } from '../pods/csi.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { ApiNode } from './node.ts';

export interface ApiCsi {
  readonly attacher: Attacher;
  /** Runs until the signal fires. Never rejects. */
  run(podSubsystem: Pick<PodSubsystem, 'manager' | 'volumes' | 'csi'>, signal: AbortSignal): Promise<void>;
}

export function createApiCsi(base: Base, client: ApiClient, apiNode: ApiNode): ApiCsi {
  const { config, clock, log, vocabulary, node: nodeName } = base;
  const node = { current: apiNode.node, onChange: apiNode.onChange };
  const attachedNames = (): string =>
    JSON.stringify(apiNode.node()?.status?.volumesAttached?.map(({ name }) => name) ?? []);
  return {
    attacher: createAttacher(
      {
        client,
        node,
        clock,
        event: createNodeEventSink(base.events, nodeName),
        podEvent: createPodEvent(base.events),
      },
      { nodeName, vocabulary, controllerAttaches: config.enableControllerAttachDetach },
    ),
    async run({ manager, volumes, csi }, signal) {
      let attached = attachedNames();
      const end = apiNode.onChange(() => {
        const next = attachedNames();
        if (next === attached) return;
        attached = next;
        retryCsiPods(manager, volumes);
      });
      const { drivers } = csi.volumes;
      await runCsiNode(
        {
          client,
          whenNode: apiNode.whenNode,
          drivers,
          whenSettled: csi.registry.whenSettled,
          clock,
          log,
        },
        { vocabulary, gates: gatesOf(base) },
        signal,
      );
      end();
    },
  };
}
