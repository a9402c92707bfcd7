import Links
import NIOConcurrencyHelpers
import QueryLanguage
package import SyncProtocol

extension SessionDriver {
  /// Asks the other peer to run a statement.
  package func ask(_ question: QueryQuestion) -> RemoteRows {
    let number = questions.withLockedValue { $0.newNumber() }
    let buffer = RemoteRowsBuffer { [weak self] taken in
      self?.post { $0.questions.append(.took(number, through: taken)) }
    } onStop: { [weak self] in
      guard let self else { return }
      questions.withLockedValue { $0.buffers[number] = nil }
      post { $0.questions.append(.stop(number)) }
    }
    let isOpen = questions.withLockedValue { questions in
      if !questions.isClosed { questions.buffers[number] = buffer }
      return !questions.isClosed
    }
    if isOpen {
      post { $0.questions.append(.ask(number, question)) }
    } else {
      buffer.finish(.disconnected)
    }
    return RemoteRows(buffer)
  }

  /// Passes a question to the session; must be called with the turn.
  func tell(_ question: QuestionInput) -> [Action] {
    let now = setup.clock.now
    return switch question {
    case .ask(let number, let question): turn.session.ask(number, question, now: now)
    case .stop(let number): turn.session.stopAsking(number, now: now)
    case .took(let number, let taken): turn.session.consumedRows(of: number, through: taken, now: now)
    }
  }

  /// Carries out the session's action; must be called with the turn.
  func perform(_ action: QueryAction) {
    switch action {
    case .rows(let number, let rows, let received):
      questions.withLockedValue { $0.buffers[number] }?.add(rows, received: received)
    case .ended(let number, let end):
      questions.withLockedValue { $0.buffers.removeValue(forKey: number) }?.finish(end)
    case .run(let job): run(job)
    }
  }

  private func run(_ job: QueryJob) {
    // Without an engine the configuration refuses statements.
    guard let engine = setup.engine else { return }
    beginWork()
    QueryPool.execute { [self] in
      job.run(on: engine) { piece in post { $0.queried.append(piece) } }
      endWork()
    }
  }

  /// Ends all open questions without an answer.
  func endQuestions() {
    let buffers = questions.withLockedValue { questions in
      questions.isClosed = true
      defer { questions.buffers = [:] }
      return questions.buffers.values.map { $0 }
    }
    for buffer in buffers { buffer.finish(.disconnected) }
  }
}

/// The statements that this end has asked the other one to run.
struct OpenQuestions {
  var buffers: [UInt64: RemoteRowsBuffer] = [:]
  var isClosed = false
  private var last: UInt64 = 0

  mutating func newNumber() -> UInt64 {
    last += 1
    return last
  }
}

/// Input about statements for a session.
enum QuestionInput: Sendable {
  case ask(UInt64, QueryQuestion)
  case stop(UInt64)
  case took(UInt64, through: UInt64)
}

extension QueryEnd {
  fileprivate static let disconnected = QueryEnd(
    error: RemoteQueryError(.closed, "the connection to the other peer is over"), rows: 0, time: .zero)
}
