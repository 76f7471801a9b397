;;; proofline.el --- Proofline through eglot  -*- lexical-binding: t -*-

;; Emacs 29 or newer: eglot is built in. In the init file:
;;   (load "/path/to/editors/emacs/proofline.el")
;;   (add-hook 'c-mode-hook #'eglot-ensure)
;; M-x proofline-trace lists the steps of the failure at point (next-error walks through them), M-x proofline-summary shows what was
;; proved about the function at point, M-x proofline-proof why, line by line (next-error walks through them).

;;; Code:

(require 'eglot)
(require 'cl-lib)

(defvar proofline-program "proofline" "The program that verifies.")

(add-to-list 'eglot-server-programs
             `((c-mode c-ts-mode) . ,(lambda (&rest _) (list proofline-program "lsp"))))

;; The server shows texts to clients that have no command for them; this one has, and code actions name it.
(defconst proofline--own-commands
  '(("proofline.showTrace" . proofline--show-trace) ("proofline.showProof" . proofline--show-proof)))

(cl-defmethod eglot-execute :around (server action)
  "Run ACTION here, if it is one that this file told SERVER of."
  (let* ((command (if (stringp (plist-get action :command)) action (plist-get action :command)))
         (own (and command (assoc (plist-get command :command) proofline--own-commands))))
    (if own (funcall (cdr own) (elt (plist-get command :arguments) 0)) (cl-call-next-method server action))))

(cl-defmethod eglot-client-capabilities :around (server)
  "Say to SERVER what this file can show."
  (let ((capabilities (cl-call-next-method)))
    (plist-put capabilities :experimental
               (append (list :proofline (list :commands (vconcat (mapcar #'car proofline--own-commands))))
                       (let ((known (plist-get capabilities :experimental)))
                         (and (listp known) known))))))

(defun proofline--command (name argument)
  "Run the server's command NAME with ARGUMENT; return its answer."
  (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                   (list :command name :arguments (vector argument)) :timeout 30))

(defun proofline--uri () (plist-get (eglot--TextDocumentIdentifier) :uri))

(defun proofline--finding ()
  "The identity of the failure nearest to point, or nil."
  (let (best distance)
    (dolist (d (flymake-diagnostics) best)
      (let* ((data (alist-get 'eglot-lsp-diag (flymake-diagnostic-data d)))
             (finding (plist-get (plist-get data :data) :finding))
             (far (abs (- (point) (flymake-diagnostic-beg d)))))
        (when (and finding (or (null distance) (< far distance)))
          (setq best finding distance far))))))

(defun proofline--file (uri)
  (if (fboundp 'eglot-uri-to-path) (eglot-uri-to-path uri) (eglot--uri-to-path uri)))

(defun proofline--place (uri range)
  "URI and RANGE as `compilation-mode' reads them, or nothing."
  (if range
      (format "%s:%d:%d: " (file-relative-name (proofline--file uri))
              (1+ (plist-get (plist-get range :start) :line))
              (1+ (plist-get (plist-get range :start) :character)))
    ""))

(defun proofline--list (name insert)
  "Show a list made by INSERT in the buffer NAME, for \\[next-error]."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (funcall insert))
    (compilation-mode)
    (goto-char (point-min))
    (setq next-error-last-buffer (current-buffer))
    (display-buffer (current-buffer))))

(defun proofline-proof ()
  "List why the function at point is proved, or what is missing, for \\[next-error]."
  (interactive)
  (proofline--show-proof (list :uri (proofline--uri)
                               :position (plist-get (eglot--TextDocumentPositionParams) :position))))

(defun proofline--show-proof (target)
  "List why the function is proved that TARGET names."
  (let ((proof (or (proofline--command "proofline.proof" target)
                   (user-error "There is no function here"))))
    (proofline--list
     "*proofline proof*"
     (lambda ()
       (insert (plist-get proof :name) ": " (plist-get proof :headline) "\n\n")
       (cl-loop for line across (plist-get proof :lines)
                do (insert (proofline--place (plist-get line :uri) (plist-get line :range))
                           (plist-get line :word) ": " (plist-get line :text)
                           (if (equal (plist-get line :because) "") "" (concat " — " (plist-get line :because)))
                           "\n"))))))

(defun proofline-trace ()
  "List the steps to the failure nearest to point, for \\[next-error]."
  (interactive)
  (let ((finding (or (proofline--finding) (user-error "No failure with a counterexample here"))))
    (proofline--show-trace (list :uri (proofline--uri) :finding finding))))

(defun proofline--show-trace (target)
  "List the steps to the failure that TARGET names."
  (let ((trace (or (proofline--command "proofline.trace" target)
                   (user-error "That failure is not there any more"))))
    (proofline--list
     "*proofline trace*"
     (lambda ()
       (insert (plist-get trace :message) "\n\n")
       (cl-loop for step across (plist-get trace :steps)
                do (insert (proofline--place (plist-get step :uri) (plist-get step :range))
                           (make-string (* 2 (plist-get step :depth)) ?\s)
                           (format "%d: %s\n" (plist-get step :number) (plist-get step :text))))
       (let* ((steps (plist-get trace :steps))
              (last (and (> (length steps) 0) (aref steps (1- (length steps)))))
              (number (plist-get last :picture)))
         (when (natnump number)
           (insert "\nMemory there:\n")
           (cl-loop for line across (plist-get (aref (plist-get trace :pictures) number) :text)
                    do (insert "  " line "\n"))))))))

(defun proofline-summary ()
  "Show the summary of the function at point."
  (interactive)
  (let ((summary (or (proofline--command "proofline.summary"
                                         (list :uri (proofline--uri)
                                               :position (plist-get (eglot--TextDocumentPositionParams) :position)))
                     (user-error "There is no function here"))))
    (with-current-buffer (get-buffer-create "*proofline summary*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (plist-get summary :markdown)))
      (special-mode)
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

(provide 'proofline)
;;; proofline.el ends here
