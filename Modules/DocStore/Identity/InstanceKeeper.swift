import CRDTCore

/// Finds out at open whether the store is what it was, and keeps the file beside the data up to date.
///
/// A session that only reads changes nothing. The first commit of a session carries a new nonce; soon after
/// it the file learns that, and at the end of the session how far the log had come.
// SAFETY: used by the thread that opens the store, then by the thread that writes alone.
final class InstanceKeeper: @unchecked Sendable {
  /// Whose entries this session writes.
  private(set) var identity: StoreIdentity
  /// What was found to have happened to the store, where it had to become a new site.
  private(set) var change: IdentityChange?
  /// The first reading of the opening that this session is or goes on as.
  private(set) var opening = ClockReading.zero
  let files: StoreFiles
  private var witness: OpeningWitness?
  private let options: StoreOptions
  private var file: InstanceFile
  /// Whether this session's nonce has been committed.
  private var isRenewed = false
  /// Whether the file beside the data may lack what the data has.
  private var isBehind = false

  /// Compares data and file; on a mismatch the new site is durable when this returns.
  init(_ environment: Environment, _ files: StoreFiles, log: LogState, options: StoreOptions)
    throws(StoreError)
  {
    self.files = files
    self.options = options
    let reader = try environment.beginRead()
    let stored: StoreIdentity
    do {
      defer { environment.recycle(reader) }
      stored = try StoreIdentity(reader.access, environment.tables)
    }
    witness = OpeningWitness(in: options.witnessDirectory, of: stored.site)
    let data = try FileMark(try environment.dataDescriptor())
    let finding = try InstanceFile.read(files.instance)
    switch Self.compare(stored, data, log, with: finding, isTrusting: options.trustsCopies) {
    case .same(let known):
      identity = stored
      change = nil
      file = known
      // The last session may have ended before the file knew of its nonce, or of a change of files.
      if stored.nonce == known.next || known.nextData != .none || known.data != data {
        isRenewed = !repair(stored, data)
      }
    case .changed(let reason):
      identity = stored
      file = InstanceFile(nonce: stored.nonce, next: stored.nonce, data: data)
      let change = IdentityChange(reason: reason, previousSite: stored.site)
      self.change = change
      try take(environment, log, reason)
      options.write(.warning, change.line)
    }
  }

  /// Goes on as the last opening where that is known to have left the store so, else begins one.
  ///
  /// What an opening writes bears readings that none of a copy bears.
  ///
  /// - Parameters:
  ///   - log: Has the clock.
  ///   - random: Random bits of this opening.
  func begin(_ log: inout LogState, random: UInt64) {
    guard options.namesOpenings else { return }
    let place = OpeningWitness.Place(
      nonce: identity.nonce, sequence: log.sequence, commitID: log.commitID)
    let former = change == nil ? witness?.opening(at: place) : nil
    log.clock.diverge(by: random, now: options.now())
    opening = former ?? log.clock.latest.next
  }

  /// Takes a new site, epoch and nonce; where the clock is the reason, also the clock of `log`.
  private func take(_ environment: Environment, _ log: LogState, _ reason: IdentityChange.Reason)
    throws(StoreError)
  {
    var fresh = try StoreIdentity(options, reason)
    fresh.nonce = StoreIdentity.drawNonce(options.random)
    let new = InstanceFile(
      nonce: fresh.nonce, next: StoreIdentity.drawNonce(options.random), sequence: log.sequence,
      commitID: log.commitID, data: try FileMark(try environment.dataDescriptor()))
    // The file first: should only one of both survive a crash, they differ, and this happens again.
    try new.replace(files)
    file = new
    try options.reach(.siteMarked)
    let transaction = try LMDBTransaction(environment)
    try fresh.write(transaction.access, environment.tables)
    if reason == .clock { try log.write(transaction.access, environment.tables) }
    try transaction.commit()
    try options.reach(.siteCommitted)
    identity = fresh
    (isRenewed, isBehind) = (true, false)
    // Nothing of the new site is written yet, and so all that will be is this opening's.
    if reason == .clock { opening = .zero }
    witness = OpeningWitness(in: options.witnessDirectory, of: fresh.site)
  }

  /// Brings the file up to date after a crash.
  ///
  /// - Returns: Whether that was possible; else this session keeps the last one's nonce, which the file knows.
  private func repair(_ stored: StoreIdentity, _ data: FileMark) -> Bool {
    var repaired = file
    repaired.nonce = stored.nonce
    repaired.next = StoreIdentity.drawNonce(options.random)
    (repaired.data, repaired.nextData) = (data, .none)
    return replace(by: repaired)
  }

  /// Puts a new file in place; a failure is logged, and is no loss where the old one is still right.
  @discardableResult
  private func replace(by new: InstanceFile) -> Bool {
    do {
      try new.replace(files)
      file = new
      return true
    } catch {
      options.write(.warning, "The store's file instance could not be written: \(error)")
      return false
    }
  }

  private enum Verdict {
    case same(InstanceFile)
    case changed(IdentityChange.Reason)
  }

  private static func compare(
    _ stored: StoreIdentity, _ data: FileMark, _ log: LogState, with finding: InstanceFile.Finding,
    isTrusting: Bool
  ) -> Verdict {
    guard stored.nonce != StoreIdentity.noNonce else { return .changed(.backup) }
    let file: InstanceFile
    switch finding {
    case .found(let found): file = found
    case .missing, .damaged: return .changed(.sideFileMissing)
    case .copy(let copied) where isTrusting: file = copied
    case .copy: return .changed(.copied)
    }
    guard stored.nonce == file.nonce || stored.nonce == file.next else { return .changed(.restored) }
    guard log.sequence > file.sequence || (log.sequence, log.commitID) == (file.sequence, file.commitID)
    else {
      return .changed(.restored)
    }
    guard data == file.data || data == file.nextData || isTrusting else { return .changed(.copied) }
    return .same(file)
  }

  /// Makes the file of a store that is about to come into being, whose data file is a draft yet.
  static func create(_ identity: StoreIdentity, _ files: StoreFiles, draft: FileMark, random: () -> UInt64)
    throws(StoreError)
  {
    try InstanceFile(nonce: identity.nonce, next: StoreIdentity.drawNonce(random), data: draft).replace(files)
  }

  // MARK: - On the writer thread

  /// Makes the store a site of its own; that is durable when this returns.
  func renewSite(
    _ reason: IdentityChange.Reason, _ environment: Environment, _ log: LogState
  ) throws(StoreError) -> IdentityChange {
    let change = IdentityChange(reason: reason, previousSite: identity.site)
    try take(environment, log, reason)
    self.change = change
    options.write(.warning, change.line)
    return change
  }

  /// Writes this session's nonce into the session's first transaction that writes, and tells the witness of each commit to come.
  func renew(_ access: PageAccess, _ tables: Tables, _ log: LogState) throws(StoreError) {
    var renewed = identity
    if !isRenewed {
      renewed.nonce = file.next
      try renewed.write(access, tables)
    }
    let place = OpeningWitness.Place(
      nonce: renewed.nonce, sequence: log.sequence, commitID: log.commitID)
    witness?.note(place, of: opening)
  }

  /// Takes note of a commit that ``renew(_:_:_:)`` was called for; the file is brought up to date soon.
  func didCommit() {
    guard !isRenewed else { return }
    isRenewed = true
    identity.nonce = file.next
    isBehind = true
  }

  /// Tells the file of this session's nonce, once; a failure is no loss, since the file expects it.
  func catchUp(_ log: LogState) {
    guard isBehind else { return }
    isBehind = false
    try? options.reach(.nonceCommitted)
    var new = file
    new.nonce = identity.nonce
    new.next = StoreIdentity.drawNonce(options.random)
    (new.sequence, new.commitID) = (log.sequence, log.commitID)
    replace(by: new)
    try? options.reach(.nonceMarked)
  }

  /// Ends the session; another may go on as its opening.
  func letGo() { witness = nil }

  /// Notes how far the log came, at the end of a session.
  func finish(_ log: LogState) {
    guard file.sequence < log.sequence, identity.nonce == file.nonce else { return }
    (file.sequence, file.commitID) = (log.sequence, log.commitID)
    try? file.overwrite(files)
  }

  /// Prepares for the data file to be replaced by another one, whichever of both survives a crash.
  func expect(_ draft: FileMark) throws(StoreError) {
    var expecting = file
    expecting.nextData = draft
    try expecting.replace(files)
    file = expecting
  }

  /// Ends what ``expect(_:)`` began; a failure is no loss, since the file still knows both.
  func settle(on data: FileMark) {
    var settled = file
    (settled.data, settled.nextData) = (data, .none)
    replace(by: settled)
  }
}
