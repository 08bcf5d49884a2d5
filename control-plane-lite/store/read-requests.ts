/** Read requests in the form in which they cross between threads. */

export type ReadRequest =
  | { readonly kind: 'get'; readonly id: number; readonly key: string }
  | {
      readonly kind: 'range';
      readonly id: number;
      readonly prefix: string;
      readonly revision: number | undefined;
      readonly after: string | undefined;
      readonly limit: number | undefined;
    };
