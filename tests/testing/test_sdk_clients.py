"""The vendors' own clients parse what our model server streams, and send what it accepts."""

import anthropic
import openai
import pytest

from wisp.testing.asking import READ
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Fault, Step

STEP = Step("Hello é🙂, I look.", "first think", (Call("read", {"path": "a"}), Call("read", {"path": "b"})))
TOOLS = [{"name": "read", "input_schema": READ.parameters}]
ARGUMENTS = ['{"path":"a"}', '{"path":"b"}']


def openai_client(server):
    return openai.AsyncOpenAI(api_key="k", base_url=server.base_url("openai-chat"), max_retries=0)


def anthropic_client(server):
    return anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)


def ask_anthropic(client, messages):
    return client.messages.stream(model="m", max_tokens=99, messages=messages, tools=TOOLS)


async def test_openai_chat_stream_is_understood():
    async with ModelServer([STEP, Step("done", after="content")]) as server:
        async with openai.AsyncOpenAI(
            api_key="k", base_url=server.base_url("openai-chat"), max_retries=0
        ) as client:
            messages = [{"role": "user", "content": "go"}]
            tools = [{"type": "function", "function": {"name": "read", "parameters": READ.parameters}}]
            async with client.chat.completions.stream(
                model="m", messages=messages, tools=tools, stream_options={"include_usage": True}
            ) as stream:
                final = await stream.get_final_completion()
            message = final.choices[0].message
            assert message.content == STEP.text
            assert [call.function.arguments for call in message.tool_calls] == ARGUMENTS
            assert final.choices[0].finish_reason == "tool_calls"
            assert final.usage.prompt_tokens == 100
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": "content"} for call in message.tool_calls
            ]
            async with client.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
                final = await stream.get_final_completion()
            assert final.choices[0].message.content == "done"
        assert server.problems == []


async def test_openai_responses_stream_is_understood():
    async with ModelServer([STEP, Step("done", after="content")]) as server:
        async with openai.AsyncOpenAI(
            api_key="k", base_url=server.base_url("openai-chat"), max_retries=0
        ) as client:
            async with client.responses.stream(model="m", input="go") as stream:
                final = await stream.get_final_response()
            assert final.output_text == STEP.text
            calls = [item for item in final.output if item.type == "function_call"]
            assert [call.arguments for call in calls] == ARGUMENTS
            assert final.output[0].encrypted_content
            items = [item.to_dict() for item in final.output]
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": "content"}
                for call in calls
            ]
            async with client.responses.stream(
                model="m", input=[{"role": "user", "content": "go"}, *items]
            ) as stream:
                assert (await stream.get_final_response()).output_text == "done"
        assert server.problems == []


async def test_anthropic_stream_is_understood():
    async with ModelServer([STEP, Step("done", after="content")]) as server:
        async with anthropic_client(server) as client:
            messages = [{"role": "user", "content": "go"}]
            async with ask_anthropic(client, messages) as stream:
                final = await stream.get_final_message()
            assert [block.type for block in final.content] == ["thinking", "text", "tool_use", "tool_use"]
            assert final.content[0].signature
            assert [block.input for block in final.content[2:]] == [{"path": "a"}, {"path": "b"}]
            assert final.stop_reason == "tool_use"
            messages.append({"role": "assistant", "content": [block.to_dict() for block in final.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "content"}
                for block in final.content[2:]
            ]
            messages.append({"role": "user", "content": results})
            async with ask_anthropic(client, messages) as stream:
                assert (await stream.get_final_message()).content[0].text == "done"
        assert server.problems == []


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_error_bodies_are_the_vendors_own(status):
    async with ModelServer([Step("x", fault=Fault(status, times=9))], lenient=True) as server:
        async with openai.AsyncOpenAI(
            api_key="k", base_url=server.base_url("openai-chat"), max_retries=0
        ) as client:
            with pytest.raises(openai.APIStatusError) as caught:
                await client.chat.completions.create(model="m", messages=[])
            assert caught.value.status_code == status
            assert caught.value.body["message"] == f"scripted failure {status}"
        async with anthropic_client(server) as client:
            with pytest.raises(anthropic.APIStatusError) as caught:
                await client.messages.create(model="m", max_tokens=9, messages=[])
            assert caught.value.body["error"]["message"] == f"scripted failure {status}"
