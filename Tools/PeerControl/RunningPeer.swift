import CRDTCore
import DunlinControl
import Facade
import Foundation
import Links
import Synchronization

/// A peer that has a store open and answers over its control socket, one request at a time.
final class RunningPeer: Sendable {
  private struct State {
    var socket: LineSocket?
    var lastID = 0
  }

  private let store: String
  /// Held from a request to the end of its answer.
  private let state: Mutex<State>
  /// The request at hand, which another thread may cancel.
  private let current = Mutex<(socket: LineSocket, id: Int)?>(nil)
  /// How many seconds a peer may take to say that it is there.
  private static let patience = 30

  private init(_ store: String, _ socket: LineSocket) {
    self.store = store
    state = Mutex(State(socket: socket))
  }

  /// Connects to the peer that has a store open.
  ///
  /// - Parameter store: The store's directory.
  /// - Returns: `nil` where no peer answers.
  /// - Throws: `ToolError` for a socket of another user, and for a peer that speaks an unknown protocol.
  static func of(store: String) throws -> RunningPeer? {
    try connect(store).map { RunningPeer(store, $0) }
  }

  private static func connect(_ store: String) throws -> LineSocket? {
    let socket = ControlProtocol.socket(in: store)
    guard let descriptor = try descriptor(of: socket) ?? socket.substitute.flatMap({ try descriptor(of: $0) })
    else { return nil }
    let lines = LineSocket(descriptor)
    lines.setPatience(seconds: patience)
    let first: [UInt8]?
    do {
      first = try lines.next()
    } catch is PeerIsSilent {
      throw ToolError(
        "\(store): the peer that has it open has not answered within \(patience) s; it is stopped or overloaded: let it go on, or end it, and try again"
      )
    }
    // A peer that closes meanwhile says nothing.
    guard let line = first else { return nil }
    lines.setPatience(seconds: 0)
    let greeting = try ControlProtocol.message(line)
    if let error = greeting.members("error") { throw ControlError(error) }
    guard let version = greeting.integer("protocol") else {
      throw ToolError("\(store): what answers at its control socket is no peer")
    }
    guard version == ControlProtocol.version else {
      throw ToolError(
        "\(store): the peer that has it open speaks version \(version) of the control protocol, and this command \(ControlProtocol.version): use the dunlin of that release"
      )
    }
    return lines
  }

  private static func descriptor(of socket: LocalSocket) throws -> Int32? {
    do throws(LinkError) {
      return try socket.connect()
    } catch {
      // A path that is too long for a socket has none.
      guard error.code != .unreachable else { return nil }
      throw ToolError(error.message)
    }
  }

  // MARK: - Requests

  /// Asks for something, and waits for the end of the answer.
  ///
  /// - Parameters:
  ///   - action: What to do.
  ///   - fields: What it needs.
  ///   - take: Takes the parts of the answer before its end; what it throws cancels the request.
  /// - Returns: The end of the answer.
  /// - Throws: `ControlError` with the peer's reason; `ToolError` when the peer has gone; what `take` throws.
  @discardableResult
  func ask(
    _ action: String, _ fields: [TextKey: Value] = [:],
    _ take: ([TextKey: Value]) throws -> Void = { _ in }
  ) throws -> [TextKey: Value] {
    try ask([fields.merging(["do": .string(action)]) { $1 }], take)
  }

  /// Asks for something in several lines, which get the request's number.
  func ask(
    _ lines: [[TextKey: Value]], _ take: ([TextKey: Value]) throws -> Void = { _ in }
  ) throws -> [TextKey: Value] {
    try state.withLock { state in
      let socket = try connected(&state)
      state.lastID += 1
      let id = state.lastID
      current.withLock { $0 = (socket, id) }
      defer { current.withLock { $0 = nil } }
      do {
        for line in lines {
          try socket.write(ControlProtocol.line(line.merging(["id": .count(id)]) { $1 }))
        }
      } catch {
        // A peer that closes the connection has said why.
        return try lastWords(about: id, socket, error)
      }
      return try answer(to: id, socket, take)
    }
  }

  private func connected(_ state: inout State) throws -> LineSocket {
    if let socket = state.socket, !socket.isOver { return socket }
    // Who is idle for long is disconnected.
    state.socket = nil
    guard let socket = try Self.connect(store) else {
      throw ToolError("\(store): the peer that had it open has closed it")
    }
    state.socket = socket
    return socket
  }

  /// What a peer has said that takes no more.
  private func lastWords(
    about id: Int, _ socket: LineSocket, _ error: any Error
  ) throws -> [TextKey: Value] {
    do {
      return try answer(to: id, socket) { _ in }
    } catch let said as ControlError {
      throw said
    } catch _ {
      throw error
    }
  }

  private func answer(
    to id: Int, _ socket: LineSocket, _ take: ([TextKey: Value]) throws -> Void
  ) throws -> [TextKey: Value] {
    var failure: (any Error)?
    while let line = try socket.next() {
      let message = try ControlProtocol.message(line)
      let error = message.members("error").map { ControlError($0) }
      guard message.integer("id") == id else {
        // What is about no request is about the connection.
        if message["id"] == nil, let error { throw failure ?? error }
        continue
      }
      if let result = message.members("result") {
        if let failure { throw failure }
        return result
      }
      if let error { throw failure ?? error }
      guard failure == nil else { continue }
      do {
        try take(message)
      } catch {
        failure = error
        cancel()
      }
    }
    throw failure ?? ToolError("\(store): the peer that has it open has ended the connection")
  }

  /// Ends the request at hand soon, from any thread.
  func cancel() {
    let request = current.withLock { $0 }
    guard let (socket, id) = request else { return }
    // A peer that has gone need not be told.
    try? socket.write(ControlProtocol.line(["cancel": .count(id)]))
  }
}

extension [TextKey: Value] {
  /// Passes on what a part of an answer says of progress.
  func passProgress(to take: (_ done: Int, _ total: Int) throws -> Void) rethrows {
    guard let progress = members("progress"), let done = progress.integer("done"),
      let total = progress.integer("total")
    else { return }
    try take(done, total)
  }
}
