/** Typed clients of the plugins that register with the node: their registration, CSI drivers, and devices. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import nodeProtos from '../data/node-protos.json' with { type: 'json' };
import type { Node as CsiNode, Identity } from '../gen/csi-v1.ts';
import type { DevicePlugin } from '../gen/deviceplugin-v1beta1.ts';
import type { Registration } from '../gen/pluginregistration-v1.ts';
import { createBriefChannel } from './brief-channel.ts';
import { parseEndpoint } from './endpoint.ts';
import { createMethods, type ServiceMethod } from './service.ts';

/** How long one call may take unless its caller says otherwise, in ms. Source: upstream's CSI client (2 minutes) and
 *  plugin watcher (10 s), release 1.24. */
const CSI_CALL_MS = 120_000;
const REGISTRATION_CALL_MS = 10_000;
/** Upstream waits without end for all but `PreStartContainer`; a plugin that hangs would hold up its containers. */
const DEVICE_CALL_MS = 120_000;
const DEVICE_CALLS_MS: Readonly<Record<string, number>> = {
  ListAndWatch: 0,
  PreStartContainer:
    nodeProtos['deviceplugin/v1beta1'].constants.NodeAgentPreStartContainerRPCTimeoutInSecs.value * 1000,
};

/** Services of a CSI driver that a node uses. Their methods throw CriError, or the signal's reason. */
export interface CsiServices {
  readonly identity: Identity;
  readonly node: CsiNode;
}

/** Endpoints are `unix:///run/…` or a bare path. Nothing has to listen there before a call. */
export interface PluginClients {
  /** @throws EndpointError */
  csi(endpoint: string): CsiServices;
  /** @throws EndpointError */
  registration(endpoint: string): Registration;
  /** @throws EndpointError */
  devicePlugin(endpoint: string): DevicePlugin;
}

type Methods = Readonly<Record<string, ServiceMethod>>;

/** The interfaces come from the tables that the methods were made of; one name stands for the rest. */
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
      if (!isIdentity(identity) || !isNode(node)) throw new TypeError('table lacks the CSI services');
      return { identity, node };
    },
    registration(endpoint) {
      const channel = createBriefChannel(parseEndpoint(endpoint));
      const deps = { channel, types: registrationTypes, timeoutMs: () => REGISTRATION_CALL_MS };
      const methods = createMethods(deps, registration.services.Registration);
      if (!isRegistration(methods)) throw new TypeError('table lacks the registration service');
      return methods;
    },
    devicePlugin(endpoint) {
      const channel = createBriefChannel(parseEndpoint(endpoint));
      const timeoutMs = (rpc: string): number => DEVICE_CALLS_MS[rpc] ?? DEVICE_CALL_MS;
      const methods = createMethods(
        { channel, types: devicePluginTypes, timeoutMs },
        devicePlugin.services.DevicePlugin,
      );
      if (!isDevicePlugin(methods)) throw new TypeError('table lacks the service of device plugins');
      return methods;
    },
  };
}
