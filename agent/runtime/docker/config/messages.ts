/** CRI messages as text in labels and checkpoints. */
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import criV1 from '#cri/data/cri-v1.json' with { type: 'json' };
import type { ContainerConfig, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';

export interface ConfigCodec {
  readonly types: MessageTypes;
  encodeSandbox(config: MessageInput<PodSandboxConfig>): string;
  /** Undefined for malformed text. */
  decodeSandbox(text: string): PodSandboxConfig | undefined;
  encodeContainer(config: MessageInput<ContainerConfig>): string;
  /** Undefined for malformed text. */
  decodeContainer(text: string): ContainerConfig | undefined;
}

// The interfaces are generated from the table with which the messages are decoded.
const isSandboxConfig = (message: object): message is PodSandboxConfig => 'logDirectory' in message;
const isContainerConfig = (message: object): message is ContainerConfig => 'logPath' in message;

export function createConfigCodec(): ConfigCodec {
  const types = createMessageTypes(criV1);

  function encode(type: string, message: object): string {
    return Buffer.from(types.type(type).encode(message)).toString('base64');
  }
  function decode(type: string, text: string): object {
    try {
      return types.type(type).decode(Buffer.from(text, 'base64'));
    } catch {
      return {};
    }
  }
  return {
    types,
    encodeSandbox: (config) => encode('PodSandboxConfig', config),
    decodeSandbox(text) {
      const message = decode('PodSandboxConfig', text);
      return isSandboxConfig(message) ? message : undefined;
    },
    encodeContainer: (config) => encode('ContainerConfig', config),
    decodeContainer(text) {
      const message = decode('ContainerConfig', text);
      return isContainerConfig(message) ? message : undefined;
    },
  };
}
