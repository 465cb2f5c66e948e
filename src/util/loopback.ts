/** Whether a host name, as `URL` spells it, is this machine's loopback interface. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
