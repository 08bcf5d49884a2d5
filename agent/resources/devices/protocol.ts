/** Message types of the device plugin protocol. Loaded when the first plugin registers. */
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import type { RpcFact } from '#cri/client/service.ts';
import nodeProtos from '#cri/data/node-protos.json' with { type: 'json' };

export interface DeviceProtocol {
  readonly types: MessageTypes;
  readonly registrationRpcs: readonly RpcFact[];
}

export function loadDeviceProtocol(): DeviceProtocol {
  const table = nodeProtos['deviceplugin/v1beta1'];
  return { types: createMessageTypes(table), registrationRpcs: table.services.Registration };
}
