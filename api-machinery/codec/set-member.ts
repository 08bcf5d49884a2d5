/** Members of objects whose names come from outside of the program. Pure but for the object. */

/** Sets a member whatever its name. Plain assignment of `__proto__` would change the prototype instead; and a name with
 *  a backslash must not become part of a shape that objects share (`json-text.ts` says why). */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  if (name.includes('\\')) leaveShape(object);
  object[name] = value;
}

/** Has V8 keep the object's members in a table of its own: it does so when a member goes that is not the last. */
function leaveShape(object: Record<string, unknown>): void {
  object['\0a'] = 0;
  object['\0b'] = 0;
  delete object['\0a'];
  delete object['\0b'];
}
