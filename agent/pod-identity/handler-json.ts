/** Codec of lifecycle handlers and ports in container annotations. Pure.
 *  This agent wrote the annotations, but another root process may have changed them: anything unexpected
 *  reads as absent. */

import { parseJsonText } from '#api/codec/json-text.ts';
import type { ContainerPort, HTTPGetAction, HTTPHeader, LifecycleHandler } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';

export function formatHandler(handler: LifecycleHandler): string {
  return JSON.stringify(handler);
}

export function formatPorts(ports: readonly ContainerPort[]): string {
  return JSON.stringify(ports.map(({ name, containerPort }) => ({ name, containerPort })));
}

/** Returns the handler of an annotation; `undefined` when it is not executable. */
export function parseHandler(text: string | undefined): LifecycleHandler | undefined {
  const value = parseRecord(text);
  if (value === undefined) return undefined;
  const { exec, httpGet, tcpSocket } = value;
  if (isObject(exec)) {
    const command = exec['command'];
    return isStrings(command) ? { exec: { command } } : undefined;
  }
  if (isObject(httpGet)) {
    const action = parseHttpGet(httpGet);
    return action === undefined ? undefined : { httpGet: action };
  }
  if (!isObject(tcpSocket)) return undefined;
  const { port, host } = tcpSocket;
  return isPort(port) ? { tcpSocket: { port, ...(typeof host === 'string' ? { host } : {}) } } : undefined;
}

/** Returns the ports of an annotation, skipping unreadable ones. */
export function parsePorts(text: string | undefined): readonly ContainerPort[] {
  const value = parseJson(text);
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown): readonly ContainerPort[] => {
    if (!isObject(entry)) return [];
    const { name, containerPort } = entry;
    if (typeof containerPort !== 'number') return [];
    return [{ containerPort, ...(typeof name === 'string' ? { name } : {}) }];
  });
}

function parseHttpGet(value: Readonly<Record<string, unknown>>): HTTPGetAction | undefined {
  const { port, path, host, scheme, httpHeaders } = value;
  if (!isPort(port)) return undefined;
  return {
    port,
    ...(typeof path === 'string' ? { path } : {}),
    ...(typeof host === 'string' ? { host } : {}),
    ...(scheme === 'HTTP' || scheme === 'HTTPS' ? { scheme } : {}),
    httpHeaders: Array.isArray(httpHeaders) ? httpHeaders.flatMap(parseHeader) : [],
  };
}

function parseHeader(value: unknown): readonly HTTPHeader[] {
  if (!isObject(value)) return [];
  const { name, value: text } = value;
  return typeof name === 'string' && typeof text === 'string' ? [{ name, value: text }] : [];
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJsonText(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function parseRecord(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

const isPort = (value: unknown): value is number | string =>
  typeof value === 'number' || typeof value === 'string';
