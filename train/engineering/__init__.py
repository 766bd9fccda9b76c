"""The policy as environment engineer (arXiv:2606.17682): between rounds of training somebody reads how the
policy fails and answers with the next configuration of the instance generator.

    config     what can be configured, by board size
    context    what the engineer is told (versions V1 .. V6)
    designers  who answers: nobody, chance, a rule, the policy itself, a model behind an endpoint
    reply      the answer in words -> a configuration, or the reason why not
    records    what a round leaves behind, and archive, where it is kept
    tables, figure    what is shown at the end
"""
