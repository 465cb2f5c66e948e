export const clientConfigCommand = { usage: '', about: '', run: async () => 0 };
