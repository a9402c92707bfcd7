import Links

// Two ends of a TCP connection, without a store: one listens and the other one dials.

/// Sends a text over a link, ends this direction, and receives until the other one ends too.
func exchange(_ text: String, over link: TCPLink) async throws -> String {
  try await link.send([Array(text.utf8)])
  try await link.finish()
  var received: [UInt8] = []
  while let bytes = try await link.receive() { received += bytes }
  return String(decoding: received, as: UTF8.self)
}

let listener = try await TCPListener.bind()
let answering = Task { () -> String? in
  for await link in listener.links { return try await exchange("pong", over: link) }
  return nil
}
let link = try await TCPConnector(host: "127.0.0.1", port: listener.port).connect()
let answer = try await exchange("ping", over: link)
let question = try await answering.value
await listener.close()

precondition(question == "ping" && answer == "pong", "\(question ?? "nothing"), \(answer)")
print("Links alone: ok")
