// Speaks with a server by an official SDK for TypeScript and prints what came of it, as one JSON document.
//
// client.mjs PACKAGE MODE COMMAND [ARGUMENT…], where PACKAGE is `sdk` (version 1, which knows one generation) or
// `client` (version 2), and MODE is legacy, auto, or a version such as 2026-07-28.

const [name, mode, command, ...args] = process.argv.slice(2);
const [main, stdio] =
    name === 'sdk'
        ? ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/stdio.js']
        : ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'];
const { Client } = await import(main);
const { StdioClientTransport } = await import(stdio);

const versionNegotiation = { mode: ['legacy', 'auto'].includes(mode) ? mode : { pin: mode } };
const client = new Client({ name: 'test-client', version: '1' }, { versionNegotiation });
const transport = new StdioClientTransport({ command, args, env: process.env });
const send = transport.send.bind(transport);
const methods = [];
transport.send = (message, ...more) => {
    methods.push(message.method);
    return send(message, ...more);
};
await client.connect(transport);

const told = result => ({
    error: result.isError === true,
    text: result.content.map(block => block.text).join(''),
    structure: result.structuredContent ?? null
});

const found = {
    version: client.getNegotiatedProtocolVersion?.() ?? null,
    server: client.getServerVersion()?.name,
    instructions: client.getInstructions()
};
found.tools = (await client.listTools()).tools.map(tool => tool.name);
found.calls = [];
for (const [tool, given] of [
    ['warnings', { files: ['shop.py'] }],
    ['recent_failures', { limit: 1 }],
    ['warnings', { files: 5 }],
    ['no_such_tool', {}]
]) {
    found.calls.push(told(await client.callTool({ name: tool, arguments: given })));
}
const { resources } = await client.listResources();
found.resources = resources.map(resource => resource.uri);
found.read = (await client.readResource({ uri: found.resources.at(-1) })).contents[0].text;
found.templates = (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate);
found.missing = await client.readResource({ uri: 'verify-run://lessons/l-00000000' }).then(
    () => null,
    error => error.code
);
found.prompts = (await client.listPrompts()).prompts.map(prompt => prompt.name);
const prompt = await client.getPrompt({ name: 'before-work', arguments: { files: 'shop.py' } });
found.prompt = prompt.messages[0].content.text;
await client.close();
found.initialized = methods.includes('initialize');
console.log(JSON.stringify(found));
