/** Typed clients of plugins that register with the node: registration, CSI drivers and device plugins. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import nodeProtos from '../data/node-protos.json' with { type: 'json' };
import type { Node as CsiNode, Identity } from '../gen/csi-v1.ts';
import type { DevicePlugin } from '../gen/deviceplugin-v1beta1.ts';
import type { Registration } from '../gen/pluginregistration-v1.ts';
import { createBriefChannel } from './brief-channel.ts';
import { parseEndpoint } from './endpoint.ts';
import { createMethods, type ServiceMethod } from './service.ts';

/** Default timeouts of calls, in ms. Source: upstream's CSI client (2 minutes) and plugin watcher (10 s),
 *  release 1.24. */
const CSI_CALL_MS = 120_000;
const REGISTRATION_CALL_MS = 10_000;
/** Upstream has no timeout except for `PreStartContainer`; a hanging plugin would block its containers. */
const DEVICE_CALL_MS = 120_000;
const DEVICE_CALLS_MS: Readonly<Record<string, number>> = {
  ListAndWatch: 0,
  PreStartContainer:
    nodeProtos['deviceplugin/v1beta1'].constants.NodeAgentPreStartContainerRPCTimeoutInSecs.value * 1000,
};

/** Services of a CSI driver for a node. Their methods throw CriError, or the signal's reason. */
export interface CsiServices {
  readonly identity: Identity;
  readonly node: CsiNode;
}

/** Endpoints are `unix:///run/…` or a path, which need not exist before a call. */
export interface PluginClients {
  /** @throws EndpointError */
  csi(endpoint: string): CsiServices;
  /** @throws EndpointError */
  registration(endpoint: string): Registration;
  /** @throws EndpointError */
  devicePlugin(endpoint: string): DevicePlugin;
}

type Methods = Readonly<Record<string, ServiceMethod>>;

/** The interfaces are generated from the tables of the methods; checking one name is sufficient. */
const isIdentity = (methods: Methods): methods is Methods & Identity => 'getPluginInfo' in methods;
const isNode = (methods: Methods): methods is Methods & CsiNode => 'nodeGetInfo' in methods;
const isRegistration = (methods: Methods): methods is Methods & Registration => 'getInfo' in methods;
const isDevicePlugin = (methods: Methods): methods is Methods & DevicePlugin => 'listAndWatch' in methods;

export function createPluginClients(): PluginClients {
  const csi = nodeProtos['csi/v1'];
  const registration = nodeProtos['pluginregistration/v1'];
  const devicePlugin = nodeProtos['deviceplugin/v1beta1'];
  const csiTypes = createMessageTypes(csi);
  const registrationTypes = createMessageTypes(registration);
  const devicePluginTypes = createMessageTypes(devicePlugin);
  return {
    csi(endpoint) {
      const channel = createBriefChannel(parseEndpoint(endpoint));
      const deps = { channel, types: csiTypes, timeoutMs: () => CSI_CALL_MS };
      const identity = createMethods(deps, csi.services.Identity);
      const node = createMethods(deps, csi.services.Node);
      if (!isIdentity(identity) || !isNode(node))
        throw new TypeError('the descriptors contain no CSI services');
      return { identity, node };
    },
    registration(endpoint) {
      const channel = createBriefChannel(parseEndpoint(endpoint));
      const deps = { channel, types: registrationTypes, timeoutMs: () => REGISTRATION_CALL_MS };
      const methods = createMethods(deps, registration.services.Registration);
      if (!isRegistration(methods))
        throw new TypeError('the descriptors contain no plugin registration service');
      return methods;
    },
    devicePlugin(endpoint) {
      const channel = createBriefChannel(parseEndpoint(endpoint));
      const timeoutMs = (rpc: string): number => DEVICE_CALLS_MS[rpc] ?? DEVICE_CALL_MS;
      const methods = createMethods(
        { channel, types: devicePluginTypes, timeoutMs },
        devicePlugin.services.DevicePlugin,
      );
      if (!isDevicePlugin(methods)) throw new TypeError('the descriptors contain no device plugin service');
      return methods;
    },
  };
}
